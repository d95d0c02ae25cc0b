"""Reading what others measured: result files, pasted blocks and tables, made into records, paired and judged."""
