#!/bin/bash
# A program looks names up; stalled: its name server never answers.
# To be run in a mount namespace of its own: it puts its own name server into resolv.conf.
set -e
here=$(dirname "$(readlink -f "$0")")
folder=$(mktemp -d /tmp/whyperf-dns-XXXXXX)
echo 'nameserver 127.0.0.53
options timeout:2 attempts:1' >"$folder/resolv.conf"
mount --bind "$folder/resolv.conf" /etc/resolv.conf
coproc server { exec python3 "$here/name_server.py" "$1"; }
read -r _ <&"${server[0]}"
python3 "$here/lookups.py"
kill "$server_PID"
umount /etc/resolv.conf
rm -rf "$folder"
