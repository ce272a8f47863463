"""Who set it: from the place where time is paid back to where the value that decides was made, hop by hop."""
