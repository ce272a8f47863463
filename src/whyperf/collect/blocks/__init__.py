"""Runs that note which basic blocks a program enters, and when for the first time."""
