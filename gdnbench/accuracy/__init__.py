"""Accuracy: lm-eval on live servers, and the same documents on both sides held against each other."""
