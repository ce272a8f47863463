"""What the runs' totals say: whether anything changed, and what kind of trouble it is."""
