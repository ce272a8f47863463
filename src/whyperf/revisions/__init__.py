"""Revisions of a git repository: built checkouts in the cache, who changed a line, and which commit made it slow."""
