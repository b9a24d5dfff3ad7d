"""Columns as arrays of NumPy, Awkward Array, pandas and Arrow."""
