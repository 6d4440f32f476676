#!/usr/bin/env bash
# Runs .ci/newcomer.sh as an ordinary user of a Debian 12 that debootstrap creates for this run: gcc, libc6-dev, Rust and
# nothing else. Needs root. The build output is this tree's target directory, so that later steps reuse it.
set -euo pipefail
cd "$(dirname "$0")/.."

# The release that the README names, and the user in it.
SUITE=bookworm
USER_ID=1000

# inside ROOT: runs in separate mount and pid namespaces; its mounts and processes end with them.
inside() {
    local root=$1 mirror http_proxy="" sysroot registry target
    # The mirror and the proxy that the machine's own apt uses.
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -m 1 '/debian/$') || {
        echo "error: no Debian archive in the apt sources: add one, then run this again" >&2
        exit 1
    }
    eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
    [ -z "$http_proxy" ] || export http_proxy
    debootstrap --variant=minbase --include=gcc,libc6-dev "$SUITE" "$root" "$mirror" >"$root.log" 2>&1 || {
        tail -n 20 "$root.log" "$root/debootstrap/debootstrap.log" >&2
        exit 1
    }
    chroot "$root" useradd --create-home --shell /bin/bash --uid "$USER_ID" newcomer
    mount -t proc proc "$root/proc"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
    # Paths are the same inside as outside: cargo takes a build for its own only then.
    chmod 755 "$root/root"
    sysroot=$(rustc --print sysroot)
    registry="${CARGO_HOME:-$HOME/.cargo}"
    target=$(target_dir)
    read_only "$root" "$sysroot"
    # The archives, not what cargo unpacked from them for root: some crates keep files that only their owner may read.
    mkdir -p "$root$registry/registry"
    cp -a "$registry/registry/cache" "$registry/registry/index" "$root$registry/registry/"
    [ ! -e "$registry/config.toml" ] || cp "$registry/config.toml" "$root$registry/"
    chown -R "$USER_ID:$USER_ID" "$root$registry"
    read_only "$root" "$PWD"
    mkdir -p "$root$target"
    mount --bind "$target" "$root$target"
    chown -R "$USER_ID:$USER_ID" "$target"
    chroot --userspec="$USER_ID:$USER_ID" --groups="" "$root" /usr/bin/env -i \
        HOME=/home/newcomer USER=newcomer SHELL=/bin/bash TERM=xterm-256color ${CI:+"CI=$CI"} \
        PATH="$sysroot/bin:/usr/local/bin:/usr/bin:/bin" \
        CARGO_HOME="$registry" CARGO_TARGET_DIR="$target" CARGO_NET_OFFLINE=true \
        "$PWD/.ci/newcomer.sh"
}

# read_only ROOT PATH: the machine's PATH is in ROOT too, without the right to write.
read_only() {
    mkdir -p "$1$2"
    mount --bind "$2" "$1$2"
    mount -o remount,bind,ro "$1$2"
}

target_dir() {
    cargo metadata --no-deps --offline --locked --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/'
}

if [ "${1:-}" = --inside ]; then
    inside "$2"
    exit
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "error: creating a Debian needs root: run this as root" >&2
    exit 1
fi
if ! command -v debootstrap >/dev/null; then
    if ! command -v apt-get >/dev/null; then
        echo "error: debootstrap is not installed, and there is no apt-get to install it" >&2
        exit 1
    fi
    { apt-get update -qq && apt-get install -qq -y --no-install-recommends debootstrap; } >&2
fi
cargo fetch --locked
mkdir -p "$(target_dir)"
root=$(mktemp -d)
chmod 755 "$root"
child=
finish() {
    [ -z "$child" ] || kill -KILL "$child" 2>/dev/null || true
    # The mounts are gone with their namespace; only the new system remains.
    rm -rf --one-file-system "$root" "$root.log"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
unshare --mount --propagation private --pid --fork --kill-child "$0" --inside "$root" &
child=$!
code=0
wait "$child" || code=$?
child=
exit "$code"
