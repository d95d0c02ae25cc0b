"""The dashboard: a history as a static site that opens from disk and needs no network.

Rendering alone: figures, shifts and releases come as values, pages and data files leave.
"""
