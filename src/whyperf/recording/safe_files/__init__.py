"""Files written whole or not at all, and files of others read within limits."""
