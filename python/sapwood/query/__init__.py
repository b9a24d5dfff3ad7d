"""Queries: selections, expressions, cuts and steps, and how they are read."""
