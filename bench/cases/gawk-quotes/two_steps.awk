# Counts words, and lists the identifiers of all lines in quotes.
function quoted(text) { return "'" text "'," }
{
    for (i = 2; i <= NF; i++)
        words[$i]++
    added = quoted($1)
    identifiers = identifiers added
}
END { print length(words), length(identifiers) }
