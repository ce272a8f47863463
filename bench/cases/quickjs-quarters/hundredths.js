// How often each of 4,000 amounts occurs; they are tenths and hundredths.
const amounts = [];
for (let i = 0; i < 4000; i++)
    amounts.push(i * 0.37 + 0.13);
const counts = new Map();
for (let round = 0; round < 60; round++)
    for (const amount of amounts)
        counts.set(amount, (counts.get(amount) || 0) + 1);
print(counts.size);
