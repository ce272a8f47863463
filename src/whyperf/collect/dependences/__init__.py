"""Deep recordings: what a program executed and what that depended on, by a Valgrind tool (`native/dependences`)."""
