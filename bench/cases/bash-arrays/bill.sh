# Adds up a bill: prices are in one array, amounts in another one.
declare -a price amount
for ((i = 0; i < 16000; i++)); do
    price[i]=$((i * 7919 % 1000))
    amount[i]=$((i % 7))
done
total=0
for ((i = 0; i < 16000; i++)); do
    total=$((total + price[i] * amount[i]))
done
echo $total
