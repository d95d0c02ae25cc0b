"""asv suites: thin, over the probes and campaigns of the command line. Shared parameters are only ever appended to."""
