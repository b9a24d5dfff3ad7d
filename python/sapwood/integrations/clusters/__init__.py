"""Trees read by many processes: small tasks, which find their file open, and the engines that run them."""
