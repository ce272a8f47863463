"""Whose data went wrong: variables whose values differ between good and bad runs beyond what runs differ by themselves.

After vProf (Weng, "Diagnosing performance issues", dissertation, chapter 3), with statistics for samples that depend on
each other and with the run as the unit. `paper` holds the published calibration, to be compared with.
"""
