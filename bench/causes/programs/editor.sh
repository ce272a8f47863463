#!/bin/bash
# The editor under a virtual display, with somebody who types.
here=$(dirname "$(readlink -f "$0")")
export DISPLAY=:$((RANDOM % 500 + 100))
Xvfb "$DISPLAY" -screen 0 320x200x8 >/dev/null 2>&1 &
display=$!
sleep 0.7
/usr/bin/python3 "$here/editor.py" "$1" &
editor=$!
sleep 0.8
for _ in $(seq 40); do
    xdotool key a >/dev/null 2>&1
    sleep 0.01
done
wait $editor
kill $display
wait $display
true
