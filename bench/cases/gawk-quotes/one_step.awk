# Counts words, and lists the identifiers of all lines in quotes.
function quoted(text) { return "'" text "'," }
{
    for (i = 2; i <= NF; i++)
        words[$i]++
    identifiers = identifiers quoted($1)
}
END { print length(words), length(identifiers) }
