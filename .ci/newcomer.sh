#!/usr/bin/env bash
# The README's two commands as a user gives them who has just cloned this. bare.sh calls it on a bare Debian.
set -euo pipefail
cd "$(dirname "$0")/.."

# Longest wait for the release build and the first frame, seconds.
PATIENCE=1800

dir=$(mktemp -d)
demo=
finish() {
    [ -z "$demo" ] || kill "$demo" 2>/dev/null || true
    rm -rf "$dir"
}
trap finish EXIT

# script(1) is the terminal: the demo draws into it, and the key that quits comes through the pipe.
echo "-- cargo run --release -- demo"
mkfifo "$dir/keys"
: >"$dir/screen"
script --quiet --flush --return --command 'stty rows 24 cols 80; cargo run --release -- demo' "$dir/screen" \
    <"$dir/keys" >/dev/null 2>&1 &
demo=$!
exec 3>"$dir/keys"
until grep -q STATUS "$dir/screen" && grep -q node-a "$dir/screen"; do
    PATIENCE=$((PATIENCE - 1))
    if [ "$PATIENCE" -le 0 ] || ! kill -0 "$demo" 2>/dev/null; then
        echo "error: no frame of the demo; the end of the terminal's output:" >&2
        tail -c 4000 "$dir/screen" >&2
        exit 1
    fi
    sleep 1
done
printf q >&3
code=0
wait "$demo" || code=$?
demo=
exec 3>&-
if [ "$code" -ne 0 ]; then
    echo "error: the demo exited with code $code; the end of the terminal's output:" >&2
    tail -c 4000 "$dir/screen" >&2
    exit 1
fi
echo "ok    a frame, and q quits with 0"

echo "-- cargo test --locked"
cargo test --locked
