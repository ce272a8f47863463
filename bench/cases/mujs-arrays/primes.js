// Counts primes by crossing out what is no prime, and says how far they are apart.
var LIMIT = 250000;
var crossed = [], primes = [], gaps = [];
var i, j, sum = 0;

for (i = 0; i <= LIMIT; i++)
	crossed.push(0);
for (i = 2; i <= LIMIT; i++) {
	if (crossed[i])
		continue;
	primes.push(i);
	for (j = i * 2; j <= LIMIT; j += i)
		crossed[j] = 1;
}
for (i = 0; i < 100; i++)
	gaps.push(0);
for (i = 1; i < primes.length; i++)
	gaps[primes[i] - primes[i - 1]]++;
for (i = 0; i < gaps.length; i++)
	sum = (sum * 31 + gaps[i]) % 1000003;
print(primes.length, sum);
