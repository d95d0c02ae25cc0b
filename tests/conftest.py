"""Settings that every test shares."""

from hypothesis import settings

# Machines are shared and pause: how long an example took says nothing about it.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
