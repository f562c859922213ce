"""Files of each format, written in its true shape; ``expected.json`` says what is in them."""
