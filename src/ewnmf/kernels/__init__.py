"""What a sweep does to a block of points: the NumPy reference, stored entries, compiled code."""
