"""Kernel events: recording them, and what is known of them before they are sealed."""
