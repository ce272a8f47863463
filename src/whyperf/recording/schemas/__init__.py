"""What each table of a sealed recording holds."""
