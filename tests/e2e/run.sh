#!/usr/bin/env bash
# Drives the release binary as a person does: in a terminal (tmux), in pipes, without root, without a network.
# Prints one line a check. The only bounds on time are generous.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

passed=0
failed=0
ok() { passed=$((passed + 1)); echo "ok    $1"; }
no() { failed=$((failed + 1)); echo "FAIL  $1"; [ $# -lt 2 ] || printf '%s\n' "$2" | head -n 40 | sed 's/^/      | /'; }
check() { if [ "$2" = "$3" ]; then ok "$1"; else no "$1" "got '$2', expected '$3'"; fi; }
holds() { case "$2" in *"$3"*) ok "$1" ;; *) no "$1" "no '$3' in: $2" ;; esac; }

if ! command -v tmux >/dev/null; then
    if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
        echo "error: tmux is not there, and it cannot be installed without apt-get and root" >&2
        exit 1
    fi
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends tmux; } >&2 || exit 1
fi
cargo build --release --locked || exit 1
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')

# Everything that is used lies where a user without rights can read it.
dir=$(mktemp -d)
chmod 755 "$dir"
mkdir -m 777 "$dir/home"
cp "$target/release/kpodtrace" assets/demo/incident.kpt tests/fixtures/kubectl/objects.json "$dir"
printf 'not a recording\n' >"$dir/text"
: >"$dir/empty"
mkdir "$dir/nothing"
chmod -R a+rX "$dir"
kpt="$dir/kpodtrace"

as_user() {
    local clean=(env -i "HOME=$dir/home" PATH=/usr/bin:/bin SHELL=/bin/sh LANG=C.UTF-8 TERM=xterm-256color)
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "${clean[@]}" "$@"
    else
        "${clean[@]}" "$@"
    fi
}
server=0
mux() { as_user tmux -S "$dir/home/tmux.$server" -f /dev/null "$@"; }
pane() { mux capture-pane -p -t t 2>&1; }
finish() {
    mux kill-server 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT

# waits NAME TEXT SECONDS: until the pane shows the text.
waits() {
    local left=$(($3 * 10))
    until pane | grep -qF -- "$2"; do
        left=$((left - 1))
        if [ "$left" -le 0 ]; then
            no "$1" "$(pane)"
            return 1
        fi
        sleep 0.1
    done
    ok "$1"
}

# begins WIDTH HEIGHT COMMAND: runs it in a new terminal, and records the terminal's settings before and after.
begins() {
    mux kill-server 2>/dev/null
    # A server that is about to end would take the next session with it.
    server=$((server + 1))
    rm -f "$dir/home/before" "$dir/home/after"
    mux new-session -d -s t -x "$1" -y "$2" \
        "stty -g >$dir/home/before; $3; echo exit=\$?; stty -g >$dir/home/after; exec sleep 300"
}

# restored NAME: the terminal has its previous settings.
restored() {
    check "$1: alternate screen is left" "$(mux display-message -p -t t '#{alternate_on}')" 0
    check "$1: the cursor is shown" "$(mux display-message -p -t t '#{cursor_flag}')" 1
    check "$1: no mouse reports" "$(mux display-message -p -t t '#{mouse_any_flag}')" 0
    check "$1: line settings" "$(cat "$dir/home/after" 2>&1)" "$(cat "$dir/home/before" 2>&1)"
}

# code NAME EXPECTED ARGS...: exit code, with the outputs in $out and $err.
code() {
    local name=$1 expected=$2
    shift 2
    out=$(as_user "$kpt" "$@" 2>"$dir/err" </dev/null)
    check "$name" "$?" "$expected"
    err=$(cat "$dir/err")
}

echo "-- commands"
code "pods from what kubectl printed" 0 pods --from "$dir/objects.json"
holds "  a table" "$out" "NAMESPACE"
code "a folder is not an input" 3 pods --from "$dir/nothing"
holds "  accepted inputs" "$err" "use a recording"
code "pods from a recording, JSON" 0 pods --from "$dir/incident.kpt" -o json
holds "  versioned" "$out" '"apiVersion": "kpodtrace/v1alpha1"'
code "problems are found" 1 pods --from "$dir/incident.kpt" --failing --exit-code
code "pleg during the hang" 1 pleg --from "$dir/incident.kpt" --at 12:42:10 --exit-code
holds "  verdict" "$out" "HANGING: the container runtime has not responded"
code "a node that does not answer" 3 pods --runtime-endpoint unix:///nonexistent --kubeconfig /nonexistent --wait 1s
holds "  remedy" "$err" "try: kpodtrace doctor"
code "doctor there" 1 doctor --runtime-endpoint unix:///nonexistent --kubeconfig /nonexistent --wait 1s
holds "  missing data" "$out" "missing: "
code "no such file" 3 pods --from "$dir/absent"
code "no recording" 3 pods --from "$dir/text"
code "an empty file" 3 pods --from "$dir/empty"
code "a moment outside the input" 2 pods --from "$dir/incident.kpt" --at 03:00
if [ "$(id -u)" -eq 0 ]; then
    mkdir -m 700 "$dir/locked"
    out=$(as_user env "HOME=$dir/locked" "$kpt" config 2>&1 </dev/null)
    check "a HOME without read permission is not an error" "$?" 0
    holds "  note" "$out" "config.toml is ignored: permission denied"
fi
code "an unknown format" 2 pods --from "$dir/incident.kpt" -o yaml
code "a recording is made" 0 record --from "$dir/objects.json" -o "$dir/home/made.kpt"
code "  and read" 0 pods --from "$dir/home/made.kpt"
code "  and not overwritten" 3 record --from "$dir/objects.json" -o "$dir/home/made.kpt"

echo "-- pipes"
as_user "$kpt" pods --from "$dir/incident.kpt" -o json 2>"$dir/err" | head -n 1 >/dev/null
check "a reader that has seen enough" "${PIPESTATUS[0]}" 0
check "  no message" "$(cat "$dir/err")" ""
as_user "$kpt" --help | head -n 1 >/dev/null
check "help into head" "${PIPESTATUS[0]}" 0
if [ -e /dev/full ]; then
    as_user "$kpt" pods --from "$dir/objects.json" >/dev/full 2>"$dir/err"
    check "a full disk is an error" "$?" 3
fi
out=$(as_user "$kpt" pods --from - <"$dir/objects.json" 2>/dev/null | wc -l)
check "standard input" "$([ "$out" -gt 2 ] && echo rows)" rows
code "the screen needs a terminal" 3 demo

echo "-- screen"
for size in 80x24 160x50; do
    width=${size%x*} height=${size#*x}
    begins "$width" "$height" "env NO_COLOR=1 LANG=C LC_ALL=C $kpt demo"
    if waits "$size: first frame" "node-a" 10 && waits "$size: pods" "s-" 10; then
        check "$size: NO_COLOR is kept" "$(mux capture-pane -p -e -t t | grep -cP '\x1b\[[0-9;]*(3[0-7]|4[0-7]|38|48)[0-9;]*m')" 0
        check "$size: LANG=C is ASCII" "$(pane | LC_ALL=C grep -c '[^ -~]')" 0
        mux send-keys -t t Enter
        waits "$size: Enter opens a pod" "QoS" 5
        holds "$size: why" "$(pane)" "WHY"
        mux send-keys -t t r
        waits "$size: r opens the runbook there" "NEXT STEPS" 5
        mux send-keys -t t Escape
        waits "$size: Esc goes back to the pod" "QoS" 5
        mux send-keys -t t Escape
        waits "$size: Esc goes back" "STATUS" 5
        mux send-keys -t t r
        waits "$size: r opens the runbook" "RUNBOOK" 5
        mux send-keys -t t / crashloop
        waits "$size: / searches it" "/crashloop" 5
        mux send-keys -t t Escape
        sleep 0.3
        mux send-keys -t t Escape
        waits "$size: Esc leaves the runbook" "STATUS" 5
        mux send-keys -t t q
        waits "$size: q ends with 0" "exit=0" 5
        sleep 0.2
        restored "$size"
    fi
done

begins 100 30 "$kpt demo --speed 20"
if waits "signal: first frame" "node-a" 10; then
    shell=$(mux display-message -p -t t '#{pane_pid}')
    child=$(cut -d" " -f1 "/proc/$shell/task/$shell/children")
    kill -TERM "$child"
    waits "signal: ends with 143" "exit=143" 5
    sleep 0.2
    restored "signal"
fi

begins 100 30 "$kpt --from $dir/objects.json"
if waits "own input: first frame" "node-a" 10; then
    mux resize-window -t t -x 60 -y 15
    sleep 0.5
    holds "own input: drawn again after a resize" "$(pane)" "node-a"
    mux send-keys -t t q
    waits "own input: q ends with 0" "exit=0" 5
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
