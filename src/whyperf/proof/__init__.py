"""Whether what differs is the cause: it is forced in the bad run, and the excess measured."""
