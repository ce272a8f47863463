"""ELF files as they lie on disk, and where files with debug information are found."""
