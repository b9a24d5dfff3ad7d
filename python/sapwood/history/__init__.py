"""What datasets say of themselves: their logs, in their store or a database, and their versions."""
