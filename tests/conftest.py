"""For all tests: a property is judged by whether it holds, not by how fast a busy machine is."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
