"""Programs whose trouble is of a known kind: is the right question asked?"""
