"""Which variables can be read at which address, and what the code does with them."""
