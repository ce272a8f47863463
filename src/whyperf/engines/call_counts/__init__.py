"""Divide the excess among what functions decide: how often a site calls, what a call costs, what comes from outside."""
