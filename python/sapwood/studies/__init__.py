"""Measurements: layouts of files (:mod:`.tune`), and chains of steps (:mod:`.chain`)."""
