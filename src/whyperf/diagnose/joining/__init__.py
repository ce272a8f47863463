"""From claims to one ranking of suspects."""
