"""Recording good and bad runs in turns: what every command that compares commands needs."""
