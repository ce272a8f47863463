"""Runs that note which basic blocks a program enters and which ways its jumps go, and when for the first time."""
