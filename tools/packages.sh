#!/usr/bin/env bash
# Installs Debian packages that are missing; without the right to do so, says what to type.
set -euo pipefail

missing=()
for package in "$@"; do
    if ! dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed'; then
        # Ubuntu calls perf's package otherwise.
        if [[ $package == linux-perf ]]; then
            command -v perf >/dev/null && continue
            apt-cache show linux-perf >/dev/null 2>&1 || package=linux-tools-generic
        fi
        # And bpftool's.
        if [[ $package == bpftool ]]; then
            [[ -n $(find /usr/lib/linux-tools* -name bpftool 2>/dev/null) ]] && continue
            apt-cache show bpftool >/dev/null 2>&1 || package=linux-tools-generic
        fi
        missing+=("$package")
    fi
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "These are needed, and this system has no apt-get to install them: ${missing[*]}" >&2
    exit 1
fi
install="apt-get install --yes --no-install-recommends ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
if [[ $(id -u) -eq 0 ]]; then
    apt-get update --quiet=2
    $install --quiet=2 >/dev/null
elif sudo --non-interactive true 2>/dev/null; then
    sudo apt-get update --quiet=2
    sudo DEBIAN_FRONTEND=noninteractive $install --quiet=2 >/dev/null
else
    echo "Some system packages are missing. Type this, then make again:" >&2
    echo "  sudo $install" >&2
    exit 1
fi
