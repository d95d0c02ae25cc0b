"""Opens a page in a headless Chromium, to see how soon it answers."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from gdnbench.values.errors import EnvironmentMissing

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
"""A browser that asks nobody for anything by itself."""


def browser() -> tuple[str, str]:
    """Paths of Chromium and its driver.

    Raises:
        EnvironmentMissing: they, or selenium, are not installed.
    """
    found = shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")
    if found[0] is None or found[1] is None or find_spec("selenium") is None:
        raise EnvironmentMissing("a browser is missing: apt-get install chromium chromium-driver; pip install selenium")
    return found[0], found[1]


def until_interactive(page: Path) -> float:
    """Seconds from the address to the answer to a click, in a browser that has just started.

    Raises:
        EnvironmentMissing: as `browser`.
    """
    chromium, driver = browser()
    from selenium.webdriver import Chrome
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By

    options = Options()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    window = Chrome(options=options, service=Service(driver))
    try:
        start = perf_counter()
        window.get(page.as_uri())
        button = window.find_element(By.ID, "theme")
        said = button.text
        button.click()
        if button.text == said:
            raise RuntimeError("the page does not answer")
        return perf_counter() - start
    finally:
        window.quit()
