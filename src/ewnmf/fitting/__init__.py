"""From a user's data to a solution."""
