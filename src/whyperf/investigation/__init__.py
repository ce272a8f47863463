"""From a verdict to its cause: who set what decides, and the proof of it, in runs made for that."""
