"""The update rules: how codes, basis and combinations move under given weights."""
