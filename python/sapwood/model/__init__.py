"""What is in a file, as Python sees it: files, directories, trees, branches."""
