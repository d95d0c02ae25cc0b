"""The tiny GDN model: its word problems, its tokenizer, its training, its card, and the check that real vLLM runs it.

Making the model needs torch, transformers and tokenizers, which the release environment has; the problems need the
standard library alone. Nothing else of the project imports this package: others use the files that it made.
"""
