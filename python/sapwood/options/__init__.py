"""Options of callers: which files, how to reach them, and where results may be written."""
