"""How right whyperf is: ranks of known causes beside other tools', non-bugs, and whether answers repeat themselves."""
