"""Sealing: from what was collected to the tables that engines read."""
