"""What a call asks for, and how it is read: selections, expressions, cuts, steps."""
