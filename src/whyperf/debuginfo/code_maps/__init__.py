"""From addresses to functions and lines: made once per build-id, kept on disk, looked up."""
