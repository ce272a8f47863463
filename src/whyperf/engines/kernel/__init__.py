"""What kernel events mean: classes of system calls, kinds of waits, who ended a wait."""
