"""Why a run needs more memory: who holds it at the peak and at the end, by calling context."""
