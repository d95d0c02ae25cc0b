"""A headless Chromium that tells every request, and everything that a page complained of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from gdnbench.dashboard.opening import FLAGS, browser

DESKTOP, PHONE = (1200, 900), (390, 844)


class Browser:
    """One window."""

    def __init__(self) -> None:
        chromium, driver = browser()
        options = Options()
        options.binary_location = chromium
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = Chrome(options=options, service=Service(driver))
        self.size(DESKTOP)

    def size(self, size: tuple[int, int]) -> None:
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str = "light", media: str = "screen") -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def open(self, address: str | Path) -> None:
        self.driver.get(address.as_uri() if isinstance(address, Path) else address)

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def link(self, text: str) -> Any:
        return self.driver.find_element(By.PARTIAL_LINK_TEXT, text)

    def wait(self, what: Any) -> Any:
        return WebDriverWait(self.driver, 10).until(lambda _: what())

    def complaints(self) -> list[str]:
        """What the console said since it was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Every address that was asked for since it was asked last."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found
