"""Where the bad runs' extra time is: every excess second is spent once, on the function that explains it best."""
