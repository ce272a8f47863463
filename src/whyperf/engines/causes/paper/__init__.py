"""Argus as published: beam search (Algorithm 1) and comparison of subgraphs (Algorithm 2), for comparison with ours."""
