"""The gate: what this checkout costs now against a baseline, row by row."""
