"""From a stalled wait to whoever made it last."""
