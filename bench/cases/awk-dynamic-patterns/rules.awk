# Which of the rules each line breaks; the rules are text that becomes a pattern when it is used.
BEGIN {
    for (rule = 0; rule < rules; rule++)
        pattern[rule] = "^(user|host|item)[0-9]*" rule "(-[a-z]+)*$"
    for (line = 0; line < int(lookups / rules); line++)
        for (rule = 0; rule < rules; rule++)
            found += ("item" line) ~ pattern[rule]
    print (found > 0)
}
