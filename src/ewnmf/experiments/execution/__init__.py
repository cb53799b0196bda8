"""How it is run: workers, the store, what it costs."""
