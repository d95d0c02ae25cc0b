"""Settings that every test shares."""

import signal

import pytest
from hypothesis import settings

from gdnbench.values.errors import EnvironmentMissing

# Machines are shared and pause: how long an example took says nothing about it.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Started in the background of a script, a process ignores Ctrl-C, and so would every command that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def window():
    """A headless Chromium; tests that want one are skipped where there is none."""
    from browser import Browser

    try:
        opened = Browser()
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))
    yield opened
    opened.driver.quit()
