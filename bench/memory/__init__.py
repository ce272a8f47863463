"""Real memory bugs with public ground truth: where does the true function stand?"""
