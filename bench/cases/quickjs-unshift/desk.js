// A help desk: questions are read, those that cannot wait go to the front of the queue, and the last in it are answered first.
function question(number) {
    var fields = ("id=" + number + ";urgent=" + (number % 3 == 0) + ";text=what is " + number + " and why").split(";");
    var read = {};
    for (var i = 0; i < fields.length; i++) {
        var at = fields[i].indexOf("=");
        read[fields[i].slice(0, at)] = fields[i].slice(at + 1);
    }
    return read;
}

var queue = [], answered = 0, words = {};
for (var number = 0; number < 180000; number++) {
    var read = question(number);
    if (read.urgent == "true") {
        queue.unshift(read);
    } else {
        queue.push(read);
    }
    if (queue.length > 600) {
        var last = queue.pop();
        answered += last.text.length;
        last.text.split(" ").forEach(function (word) { words[word.length] = (words[word.length] || 0) + 1; });
    }
}
print(answered + " " + JSON.stringify(words));
