"""What the source says about variables: which of them steer loops, decide branches, are passed on."""

from whyperf.source.compile_flags import compilation_database, language_of, producers_in
from whyperf.source.roles import FunctionInSource, SourceRoles, roles_of
from whyperf.source.uses import UseRole

__all__ = [
    "FunctionInSource",
    "SourceRoles",
    "UseRole",
    "compilation_database",
    "language_of",
    "producers_in",
    "roles_of",
]
