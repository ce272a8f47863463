"""Tables about values: what variables held, what they are for, and what of them is kept."""
