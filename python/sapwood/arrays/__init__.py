"""Converts columns into arrays of NumPy, Awkward Array, pandas and Arrow."""
