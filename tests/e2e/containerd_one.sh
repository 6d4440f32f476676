#!/usr/bin/env bash
# The runtime as a source against one real containerd, started for this test in separate folders, as root.
# Its arguments: a folder with containerd, its shim and ctr; the test's program. containerd.sh calls it.
# Prints one line a check.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
export PATH="$1:$PATH"
test=$2

dir=$(mktemp -d)
# A user without permission can reach the socket and this test, but cannot use the socket.
chmod 711 "$dir"
install -m 755 "$test" "$dir/test" || exit 1
bridge="kpt${dir: -6}"
finish() {
    # What containerd started outlives it: each shim names the folder.
    if [ -f "$dir/pid" ]; then
        kill -CONT "$(cat "$dir/pid")" 2>/dev/null
        ctr -a "$dir/c.sock" -n k8s.io tasks ls -q 2>/dev/null | while read -r task; do
            ctr -a "$dir/c.sock" -n k8s.io tasks rm -f "$task"
        done >/dev/null 2>&1
        kill "$(cat "$dir/pid")" 2>/dev/null
        for _ in $(seq 50); do
            kill -0 "$(cat "$dir/pid")" 2>/dev/null || break
            sleep 0.1
        done
    fi
    for proc in /proc/[0-9]*; do
        if { tr '\0' ' ' <"$proc/cmdline"; } 2>/dev/null | grep -q -- "^[^ ]*containerd-shim[^ ]* .*-address $dir/"; then
            kill -KILL "${proc#/proc/}"
        fi
    done
    awk -v dir="$dir/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mount; do
        umount -l "$mount"
    done
    ip link delete "$bridge" 2>/dev/null
    rm -rf "$dir"
}
trap finish EXIT

mkdir "$dir/cni"
cat >"$dir/cni/10-e2e.conflist" <<EOF
{"cniVersion": "0.4.0", "name": "kpt-e2e", "plugins": [{"type": "bridge", "bridge": "$bridge", "isGateway": true,
 "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "$dir/ipam", "ranges": [[{"subnet": "10.89.0.0/24"}]]}}]}
EOF
if containerd --version | grep -qE ' v?1\.[0-9]+\.'; then
    cri='io.containerd.grpc.v1.cri'
    config="version = 2
[plugins.\"$cri\"]
  sandbox_image = \"registry.k8s.io/pause:3.10\"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins.\"$cri\".containerd.runtimes.runc]
    runtime_type = \"io.containerd.runc.v2\"
    [plugins.\"$cri\".containerd.runtimes.runc.options]
      Root = \"$dir/runc\"
  [plugins.\"$cri\".cni]
    bin_dir = \"/usr/lib/cni\"
    conf_dir = \"$dir/cni\""
else
    config="version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = \"registry.k8s.io/pause:3.10\"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = \"io.containerd.runc.v2\"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      Root = \"$dir/runc\"
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [\"/usr/lib/cni\"]
    conf_dir = \"$dir/cni\"
[plugins.'io.containerd.nri.v1.nri']
  disable = true"
fi
printf '%s\n' "${config%%$'\n'*}" "root = \"$dir/root\"" "state = \"$dir/state\"" \
    '[grpc]' "  address = \"$dir/c.sock\"" '[ttrpc]' "  address = \"$dir/c.ttrpc\"" "${config#*$'\n'}" >"$dir/config.toml"
cat >"$dir/start" <<EOF
#!/bin/sh
setsid containerd -c "$dir/config.toml" >>"$dir/log" 2>&1 </dev/null &
echo \$! >"$dir/pid"
EOF
chmod +x "$dir/start"
python3 tests/e2e/mkimage.py "$dir" || exit 1

"$dir/start"
for _ in $(seq 100); do
    ctr -a "$dir/c.sock" version >/dev/null 2>&1 && break
    sleep 0.1
done
echo "-- $(containerd --version | cut -d' ' -f1-3)"
for image in pause app; do
    if ! ctr -a "$dir/c.sock" -n k8s.io images import "$dir/$image.tar" >/dev/null; then
        tail -n 20 "$dir/log" >&2
        exit 1
    fi
done

export KPT_CONTAINERD_DIR="$dir" KPT_CONTAINERD_SOCKET="$dir/c.sock" RUST_BACKTRACE=0
code=0
setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/test" --ignored --nocapture --exact a_user_without_rights \
    >"$dir/out" 2>&1 || code=1
"$dir/test" --ignored --nocapture --exact a_real_containerd >>"$dir/out" 2>&1 || code=1
grep -E '^(ok|FAIL)  ' "$dir/out"
passed=$(grep -c '^ok  ' "$dir/out")
failed=$(grep -c '^FAIL  ' "$dir/out")
if [ "$code" -ne 0 ] || [ "$passed" -eq 0 ]; then
    [ "$failed" -gt 0 ] || failed=1
    grep -vE '^ok  ' "$dir/out" | head -n 60
    echo "-- the end of containerd's log"
    tail -n 10 "$dir/log"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
