"""How things are shown to people: text without control characters, units, markup, pages."""
