"""Showing a verdict."""
