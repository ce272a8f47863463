"""The page: a verdict with all of its evidence in one HTML file that needs nothing else."""
