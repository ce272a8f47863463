"""The flight recorder: rings in the kernel that nobody reads until something has happened."""
