sleep 0.05
echo "$1 1.0" > /dev/null
