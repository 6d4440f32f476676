#!/usr/bin/env bash
# Checks the dependencies against deny.toml. Builds cargo-deny where it is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."

# Another version may read deny.toml differently.
VERSION=0.20.2

target=$(cargo metadata --no-deps --locked --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
export PATH="$PATH:$target/tools/bin"
if ! cargo deny --version >/dev/null 2>&1; then
    # A separate target directory, so that the other steps rebuild nothing.
    cargo install --locked --debug --no-default-features --version "$VERSION" \
        --root "$target/tools" --target-dir "$target/tools/build" cargo-deny
    rm -rf "$target/tools/build"
fi
cargo deny --locked check bans licenses sources
