"""Changed relations as ranked candidates, and these as findings."""
