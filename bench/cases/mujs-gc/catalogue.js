// A catalogue is read into memory, then searched: words of a query are cut, sorted and counted, again and again.
var WORDS = "harbour lantern copper meadow signal winter garden thread marble river candle basket".split(" ");

function Random(seed) {
	this.seed = seed;
}

Random.prototype.below = function (limit) {
	this.seed = (this.seed * 16807) % 2147483647;
	return this.seed % limit;
};

function readCatalogue(chance, articles) {
	var catalogue = [];
	for (var number = 0; number < articles; ++number) {
		var words = [];
		for (var k = 0; k < 3; ++k)
			words.push(WORDS[chance.below(WORDS.length)]);
		catalogue.push({ number: number, words: words, price: { amount: chance.below(5000), unit: "EUR" } });
	}
	return catalogue;
}

function answer(catalogue, chance) {
	var query = [];
	for (var k = 0; k < 6; ++k)
		query.push(WORDS[chance.below(WORDS.length)] + "-" + chance.below(10));
	query.sort();
	var text = query.join(" ").toUpperCase().split(" ");
	var found = { sum: 0, texts: [] };
	for (var k = 0; k < text.length; ++k) {
		var article = catalogue[chance.below(catalogue.length)];
		found.sum += article.price.amount;
		found.texts.push(text[k].substring(0, 4) + article.words[0]);
	}
	return found.sum + found.texts.join().length;
}

var chance = new Random(7);
var catalogue = readCatalogue(chance, 60000);
var sum = 0;
for (var round = 0; round < 20000; ++round)
	sum += answer(catalogue, chance);
print(sum);
