"""What a binary says: functions, inlining, lines, basic blocks."""
