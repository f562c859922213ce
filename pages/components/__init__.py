"""What the pages are made of, one element a file."""
