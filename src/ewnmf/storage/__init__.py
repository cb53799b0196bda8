"""Where points and their codes live."""
