"""One traced recording as a graph: what threads did and waited for, and what brought about what."""
