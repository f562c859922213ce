"""Kinds of files we write and read, one a file. Pure: values in, text or bytes out."""
