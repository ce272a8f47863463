"""What engines found, as claims about functions."""
