"""The parts of judging a server campaign: figures, what makes them invalid, and what a reader must know beside them."""
