"""Files that users name, opened: one, many as one, and those that are mixed in."""
