"""The on-disk format: raw log, sealed tables, manifest, versions, reader, writer, identities."""
