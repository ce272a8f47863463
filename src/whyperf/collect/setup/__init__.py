"""What is settled before a run begins: what the user asks, how often to sample, the recording's folder."""
