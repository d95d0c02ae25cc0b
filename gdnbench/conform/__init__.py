"""Conformance: our code of every change held against the real releases that bracket it."""
