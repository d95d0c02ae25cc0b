"""Settings that every test shares."""

import signal

from hypothesis import settings

# Machines are shared and pause: how long an example took says nothing about it.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Started in the background of a script, a process ignores Ctrl-C, and so would every command that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
