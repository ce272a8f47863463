"""Recordings made by other tools, turned into recordings like our own."""
