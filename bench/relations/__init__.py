"""Cases whose cause is a changed relation: does `compare --deep` name it, and what does that cost?"""
