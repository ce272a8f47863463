"""What a target uses, and what its threads wait for: seen from outside."""
