"""What other tools say of the same good and bad commands: one file a tool, each a ranking of function names."""
