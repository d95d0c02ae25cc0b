"""Where the launches of a campaign run: on this machine, or on those of a Ray cluster."""
