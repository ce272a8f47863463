"""vProf's post-profiling analysis as published (Weng, dissertation, section 3.4): there to be compared with."""
