# Adds up a column: `sum.sh HOW FILE ...`, where HOW says how lines come in: straight from the file, or through a pipe.
sum() {
  local name count words total=0
  while read -r name count words; do
    total=$((total + count))
  done
  echo "$total"
}

case $1 in
  straight) for file in "${@:2}"; do sum < "$file"; done ;;
  piped) for file in "${@:2}"; do sum < <(cat "$file"); done ;;
esac
