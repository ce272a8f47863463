"""The speed book: what recording costs, how diagnosis grows with recordings, and the papers' own sizes."""
