#!/usr/bin/env bash
# The runtime as a source against real containerds: Debian's 1.6, 1.7 and 2.x, each in separate folders, as root.
# They are taken from the suites that have them and extracted beside the system, never installed: apt keeps its state for
# that under target/containerd, and the system's is not touched. Another run uses what lies there; delete it to have the
# newest again.
# KPT_CONTAINERD_BIN names a folder with a containerd (with its shim, and ctr) to be tested instead of all these.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

# Suite, and what the version must begin with.
SUITES=("bookworm 1.6." "trixie 1.7." "sid 2.")

if [ "$(id -u)" -ne 0 ]; then
    echo "error: containerd makes containers, which needs root" >&2
    exit 1
fi
missing=()
command -v runc >/dev/null || missing+=(runc)
command -v python3 >/dev/null || missing+=(python3-minimal)
command -v ip >/dev/null || missing+=(iproute2)
[ -x /usr/lib/cni/bridge ] || missing+=(containernetworking-plugins)
# The image holds busybox and no library.
{ [ -x /bin/busybox ] && ! ldd /bin/busybox >/dev/null 2>&1; } || missing+=(busybox-static)
if [ ${#missing[@]} -gt 0 ]; then
    if ! command -v apt-get >/dev/null; then
        echo "error: missing, and they cannot be installed without apt-get: ${missing[*]}" >&2
        exit 1
    fi
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}"; } >&2 || exit 1
fi
built=$(cargo test --locked --test e2e_containerd --no-run 2>&1) || { echo "$built" >&2; exit 1; }
test=$(sed -n 's/^ *Executable .*(\(.*\))$/\1/p' <<<"$built")
target=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
kept="$target/containerd"

# got SUITE: containerd of that suite lies extracted in $kept/SUITE/x, from the mirror that the system itself uses.
got() {
    local suite=$1 at="$kept/$1" mirror
    [ -x "$at/x/usr/bin/containerd" ] && return
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -m 1 '/debian/$')
    if [ -z "$mirror" ]; then
        echo "error: no archive of Debian among the system's apt sources, to take containerd of $suite from" >&2
        return 1
    fi
    rm -rf "$at"
    mkdir -p "$at/lists/partial" "$at/cache/archives/partial" || return 1
    : >"$at/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$at/sources.list"
    local own=(-qq -o "Dir::State=$at" -o "Dir::State::lists=$at/lists" -o "Dir::State::status=$at/status"
        -o "Dir::Cache=$at/cache" -o "Dir::Etc::sourcelist=$at/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::Etc::preferencesparts=/dev/null -o Acquire::Languages=none -o APT::Sandbox::User=root
        -o Acquire::Retries=3)
    { apt-get "${own[@]}" update && (cd "$at" && apt-get "${own[@]}" download containerd); } >&2 || return 1
    # The lists are large and have served.
    rm -rf "$at/lists" "$at/cache"
    dpkg -x "$at"/containerd_*.deb "$at/x.part" && mv "$at/x.part" "$at/x" && rm "$at"/containerd_*.deb
}

if [ -n "${KPT_CONTAINERD_BIN:-}" ]; then
    exec tests/e2e/containerd_one.sh "$KPT_CONTAINERD_BIN" "$test"
fi
failed=()
for line in "${SUITES[@]}"; do
    read -r suite begins <<<"$line"
    if ! got "$suite"; then
        echo "FAIL  containerd of $suite cannot be got"
        failed+=("$suite")
        continue
    fi
    bin="$kept/$suite/x/usr/bin"
    # A newer suite's binary can need a newer libc than the installed one: this reports it.
    version=$("$bin/containerd" --version 2>&1 | awk '{ print $3 }')
    if [[ "${version#v}" != "$begins"* ]]; then
        echo "FAIL  containerd of $suite is ${version:-nothing that runs}, and not $begins"
        failed+=("$suite")
        continue
    fi
    tests/e2e/containerd_one.sh "$bin" "$test" || failed+=("$suite")
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
