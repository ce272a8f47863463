"""Tables about code: frames, functions, modules, decisions, source."""
