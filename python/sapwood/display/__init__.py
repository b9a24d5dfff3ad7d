"""Output for people: text without control characters, units, markup, pages."""
