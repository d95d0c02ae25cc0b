"""The site in a real browser: it opens from disk and from a server, asks nobody, and answers clicks and keys."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

import sites
from browser import DESKTOP, PHONE, Browser
from kept import MACHINE

pytestmark = pytest.mark.slow


@pytest.fixture
def browser(window: Browser, made):
    window.size(DESKTOP)
    window.prefer("light")
    window.open(made.folder / "index.html")
    window.run("localStorage.clear()")
    window.requests(), window.complaints()
    yield window
    assert not [
        one
        for one in window.requests()
        if not one.startswith((made.folder.as_uri(), "data:", "blob:", "http://127.0.0.1:"))
    ]
    assert window.complaints() == []


def pages(made) -> list[str]:
    own, hostile = (
        made.series(variant="pr51913.after", against="", machine=MACHINE.host),
        made.series(variant=sites.HOSTILE),
    )
    named = ["index", "shifts", "series", "changes", "changes/51913", "changes/55404", "devices", "releases", "runs"]
    device = next(made.folder.glob("devices/*.html")).stem
    return [*named, f"series/{own}", f"series/{hostile}", f"devices/{device}", f"runs/{made.data.runs[-1].name}"]


def drawn(browser: Browser) -> bool:
    return bool(browser.all("#plot .main-svg"))


def test_every_page_opens_from_disk_at_every_width_in_both_themes(browser: Browser, made) -> None:
    for size in (DESKTOP, PHONE):
        browser.size(size)
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            for page in pages(made):
                browser.open(made.folder / f"{page}.html")
                browser.wait(lambda: not browser.all("#plot") or drawn(browser))
                wide = browser.run("return document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, f"{page} is {wide} pixels too wide"
                faint = browser.run(CONTRASTS)
                assert not faint, f"{page}, {scheme}: {faint}"


MIDDLE = """
const { x, y, width, height } = arguments[0].getBoundingClientRect();
return [x + width / 2, y + height / 2];
"""

CONTRASTS = """
const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const light = ([r, g, b]) => [r, g, b].map((v) => linear(v / 255))
  .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const found = [];
for (const element of document.body.querySelectorAll("*")) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!own || !element.checkVisibility() || element.closest("noscript, script, svg")) continue;
  const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) found.push(`${element.tagName}: ${element.textContent.slice(0, 40)}`);
}
return found;
"""


def test_from_the_overview_to_the_evidence(browser: Browser, made) -> None:
    assert "2 open shifts in all, 2 worse" in browser.one("h1").text
    browser.link("pr51913.after, 16q1s1k, host_time").click()
    browser.wait(lambda: drawn(browser))
    assert browser.one("h1").text == "pr51913.after, 16q1s1k, host_time (median)"
    assert "+8.3 % confirmed" in browser.one("#plot").text
    assert "torch 2.14.0" in browser.one("#plot").text
    assert [one.text for one in browser.all("#plot .annotation-text")].count("device_ops") == 1
    shown = "return document.getElementById('plot')._fullLayout.xaxis.range.map((end) => Date.parse(end + 'Z'))"
    first, last = browser.run(shown)
    button = browser.one("button[data-nights='30']")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert browser.run(shown)[0] < first and browser.run(shown)[1] >= last - 864e5
    browser.one("button[data-nights='0']").click()
    assert browser.run(shown) == [first, last]
    browser.one("#points summary").click()
    rows = browser.wait(lambda: browser.all("#points tbody tr"))
    assert len(rows) == 11
    assert "13.10 us" in rows[0].text and "12.90 us to 13.40 us" in rows[0].text
    assert sum("the metadata of before and after differ" in row.text for row in rows) == 1
    rows[0].find_element("css selector", "a").click()
    assert browser.one("h1").text == str(made.data.runs[-3].name)
    assert "SHA-256" in browser.one("main").text


def test_what_the_plot_draws(browser: Browser, made) -> None:
    browser.open(
        made.folder / "series" / f"{made.series(variant='pr51913.after', against='', machine=MACHINE.host)}.html"
    )
    browser.wait(lambda: drawn(browser))
    traces = browser.run(
        "return document.getElementById('plot').data.map(({ name, x, y, yaxis }) => [name, [...x], [...y], yaxis])"
    )
    figures = next(y for name, _, y, _ in traces[2:3])
    stored = made.data.column(
        made.data.by_id[made.series(variant="pr51913.after", against="", machine=MACHINE.host)], "value"
    )
    invalid = next(y for name, _, y, _ in traces if name == "invalid")
    assert sorted(figures + invalid) == sorted(stored.tolist())
    line = traces[1]
    assert line[2].count(None) == 2, "the line breaks where a night is missing, and where it is invalid"
    costs = {name: y for name, _, y, axis in traces if axis}
    assert costs.keys() == {"syncs", "device_ops", "alloc_bytes"}
    assert {one for one in costs["device_ops"] if one is not None} == {8, 9}


def test_a_shift_says_between_what_it_happened(browser: Browser) -> None:
    browser.one("td a[href^='shifts.html#']").click()
    details = browser.wait(lambda: browser.one("article:target details"))
    assert details.get_attribute("open") is not None
    assert "2.13.0 → 2.14.0" in details.text


def test_series_are_found_by_words_states_and_order(browser: Browser) -> None:
    browser.one("body").send_keys("/")
    box = browser.driver.switch_to.active_element
    assert box.get_attribute("id") == "find"
    box.send_keys("h200 host_time\n")
    rows = browser.wait(lambda: browser.all(".list tbody tr"))
    assert len(rows) == 2
    assert browser.one(".list [role=status]").text == "2 series"
    own = browser.one("#words-0")
    own.clear()
    own.send_keys("is:open")
    assert [row.find_elements("css selector", "td")[2].text for row in browser.all(".list tbody tr")] == [
        "device_ops (count)",
        "host_time (median)",
    ]
    own.clear()
    own.send_keys("is:exact")
    head = next(one for one in browser.all(".list thead button") if one.text == "last figure")
    head.click()
    assert [row.find_elements("css selector", "td")[3].text for row in browser.all(".list tbody tr")] == [
        "0",
        "9",
        "4,096",
    ]
    head.click()
    assert browser.one("th[aria-sort]").get_attribute("aria-sort") == "descending"
    own.clear()
    own.send_keys("no such series")
    assert browser.one(".list [role=status]").text == "0 series"


def test_a_change_and_a_device_list_their_own(browser: Browser, made) -> None:
    browser.link("Changes").click()
    browser.link("51913").click()
    assert browser.one(".list [role=status]").text == "7 series"
    browser.one(".list tbody a").click()
    browser.wait(lambda: drawn(browser))
    browser.link("Devices").click()
    browser.link("H200").click()
    assert browser.one(".list [role=status]").text == "2 series"
    assert "Stale" in browser.one(".warn").text


def test_texts_of_others_do_nothing(browser: Browser, made) -> None:
    browser.link("Series").click()
    browser.wait(lambda: browser.all(".list tbody tr"))
    browser.link("alert(1)").click()
    browser.wait(lambda: drawn(browser))
    assert browser.one("h1").text.startswith("<script>alert(1)</script>\"'><img src=x onerror=alert(2)> </script>")
    browser.one("#points summary").click()
    assert "<script>alert(1)" in browser.wait(lambda: browser.one("#points tbody").text)
    across, down = browser.run(MIDDLE, browser.one("#plot .point"))
    browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": across, "y": down})
    assert "onerror=alert(2)" in browser.wait(lambda: browser.one(".hoverlayer").text)
    assert browser.run("return document.querySelectorAll('img, iframe, main script:not([type])').length") == 0


def test_the_releases(browser: Browser) -> None:
    browser.link("Releases").click()
    browser.wait(lambda: drawn(browser))
    assert "0.30.0 → 0.31.0, 16q1s1k (decode): +290.0 %" in browser.one("ol li").text
    levels = browser.run("return document.getElementById('plot').data.map(({ y }) => [...y])")
    assert levels[0][:2] == [1, 0.99] and levels[1][2:] == [None] * 3
    sizes = browser.run("return document.getElementById('plot').data[0].marker.size")
    assert [size > 6 for size in sizes] == [False, False, True, True, False]
    browser.one("th[scope=row] a").click()
    assert browser.run("return document.querySelector('section:target h2').textContent").startswith("16q1s1k")


def test_the_theme_is_chosen_and_remembered(browser: Browser, made) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    white = browser.run(ground)
    button = browser.one("#theme")
    button.click()
    assert (button.text, browser.run(ground)) == ("Theme: light", white)
    button.click()
    assert button.text == "Theme: dark" and browser.run(ground) != white
    browser.open(made.folder / "releases.html")
    browser.wait(lambda: drawn(browser))
    paper = browser.run("return document.getElementById('plot')._fullLayout.paper_bgcolor")
    browser.one("#theme").click()
    assert browser.run(ground) == white
    assert browser.run("return document.getElementById('plot')._fullLayout.paper_bgcolor") != paper


def test_all_of_it_by_keyboard(browser: Browser, made) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.one("body").send_keys(Keys.TAB)
    assert browser.driver.switch_to.active_element.text == "Skip to the content"
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.run("return document.activeElement.id") == "main"
    seen = []
    for _ in range(8):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(
            browser.run(
                "return document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
            )
        )
        assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert seen[:2] == ["stale", "Open shifts"] and any("host_time" in one for one in seen)


def test_it_prints_on_light_and_narrow_paper(browser: Browser, made) -> None:
    browser.one("#theme").click()
    browser.one("#theme").click()
    for page in ("releases", f"series/{made.series(variant='pr51913.after', against='', machine=MACHINE.host)}"):
        browser.open(made.folder / f"{page}.html")
        browser.wait(lambda: drawn(browser))
        browser.prefer(media="print")
        assert not any(one.is_displayed() for one in browser.all("nav, #theme, form, .modebar"))
        browser.run("dispatchEvent(new Event('beforeprint'))")
        assert browser.run("return document.getElementById('plot')._fullLayout.width") == 680
        assert browser.run("return document.getElementById('plot')._fullLayout.paper_bgcolor") == "#ffffff"
        assert not browser.run(CONTRASTS)
        browser.run("dispatchEvent(new Event('afterprint'))")
        browser.prefer()
        assert browser.run("return document.documentElement.dataset.theme") == "dark"
        assert browser.run("return document.getElementById('plot')._fullLayout.width") > 1000
        assert len(browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 20_000


def test_it_is_the_same_from_a_server(browser: Browser, made) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=str(made.folder))
    handler.log_message = lambda *_: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        for page in pages(made):
            browser.open(f"http://127.0.0.1:{server.server_port}/{page}.html")
            browser.wait(lambda: not browser.all("#plot") or drawn(browser))
            browser.wait(lambda: not browser.all(".list") or browser.all(".list tbody tr"))
    finally:
        server.shutdown()
        server.server_close()
