"""Finding and mending damage: our defaults against what else people do, on data with known damage."""
