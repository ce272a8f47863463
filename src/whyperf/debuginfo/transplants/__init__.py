"""One function of another build in place of a program's own: plans that `native/probes` carries out."""
