"""What the contexts engine is held against: true latencies, injected delays, and pairs in which nothing differs."""
