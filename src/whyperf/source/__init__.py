"""What the source says about variables: which of them steer loops, decide branches, are passed on."""
