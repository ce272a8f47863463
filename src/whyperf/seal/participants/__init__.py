"""Who ran and where: processes, threads, what was mapped into them, and the places at which they were seen."""
