"""What stays the same between runs: functions by name, system calls by number."""
