"""Where a binary's code can be changed so that it counts, and how: plans that `native/probes` carries out."""
