"""The command line: one file per command, each a thin function over the public Python API."""
