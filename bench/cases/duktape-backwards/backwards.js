// A table of 2,000 prices, filled from its end, which 6,000 orders are added up with.
function totalOf() {
    var prices = [], total = 0, i;
    for (i = 1999; i >= 0; i--)
        prices[i] = i % 97;
    for (var order = 0; order < 6000; order++)
        for (i = 0; i < 2000; i++)
            total += prices[i];
    return total;
}
print(totalOf());
