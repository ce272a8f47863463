#!/bin/bash
# The editor under a virtual display, with somebody who types.
here=$(dirname "$(readlink -f "$0")")
coproc display { exec Xvfb -displayfd 1 -screen 0 320x200x8 2>/dev/null; }
read -r number <&"${display[0]}"
export DISPLAY=:$number
/usr/bin/python3 "$here/editor.py" "$1" &
editor=$!
xdotool search --sync --onlyvisible --name tk >/dev/null 2>&1
sleep 0.3
for _ in $(seq 40); do
    xdotool key a >/dev/null 2>&1
    sleep 0.01
done
wait $editor
kill "$display_PID"
true
