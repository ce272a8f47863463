"""The log that a recorder writes while the target runs."""
