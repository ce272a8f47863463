"""Joining the engines' findings into one ranked verdict."""
