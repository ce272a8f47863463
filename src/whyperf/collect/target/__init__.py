"""The program that is watched: whether it can be watched, how it is started, driven and stopped, what it loads."""
