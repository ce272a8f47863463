# How many orders there are, and how many of them are paid.
{
    orders += gsub(/"id":[0-9]+/, "&")
    paid += gsub(/"paid":true/, "&")
    characters += length($0)
}
END { print orders, paid, characters }
