"""A person at the report: picks, sorts, searches, changes the theme, uses a phone or only the keyboard."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import EVIL, MAKERS

KINDS = sorted(MAKERS)


def numbers(page: Any, column: int) -> list[float]:
    """The column of the suspects that are shown."""
    shown = "[...document.querySelectorAll('#table tbody tr:not([hidden])')]"
    script = f"(c) => {shown}.map(row => Number(row.cells[c].dataset.value))"
    found: list[float] = page.evaluate(script, column)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_points_can_be_picked(opened, kind):
    it = opened(kind)
    page = it.page
    first = page.text_content("#said")
    page.click("#next")
    second = page.text_content("#said")
    assert first != second
    page.click("#previous")
    assert page.text_content("#said") == first
    page.select_option("#point", index=3)
    name = page.locator("#point option").nth(3).inner_text().split(" (")[0]
    assert page.text_content("#said").startswith(f"Point {name}:")
    rows = page.locator("#picked .entries tbody tr").count()
    assert rows > 0
    if kind == "images":
        assert page.locator("#picked .four img").count() == 4
        assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
    if kind == "series":
        assert page.locator("#picked path.line").count() >= 3
    it.check()


def test_the_first_screen_answers(opened):
    it = opened("table")
    screen = it.page.inner_text("#found")
    for words in ("Most of it is in", "Suspect entries", "Which gamma, and why", "Most distrusted attributes"):
        assert words in screen
    assert it.page.locator("#found").bounding_box()["height"] < 1000
    it.check()


def test_names_of_the_data_stay_text(opened):
    it = opened("table")
    assert it.page.title() == f"Sensors {EVIL}"
    assert EVIL in it.page.inner_text("#found .bars >> nth=0")
    it.page.click("#found button.pick >> nth=0")
    assert it.page.evaluate("document.scripts.length") == 2
    it.check()


def test_a_suspect_leads_to_its_point(opened):
    it = opened("table")
    page = it.page
    button = page.locator("#table button.pick").first
    name = button.inner_text()
    button.click()
    assert page.text_content("#said").startswith(f"Point {name}:")
    assert page.evaluate("document.activeElement.id") == "point"
    it.check()


def test_suspects_can_be_sorted_and_searched(opened):
    it = opened("table")
    page = it.page
    for column, name in ((2, "Value"), (4, "Trust"), (0, "Point")):
        head = page.locator(f"#table th:has-text('{name}')").first
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "ascending"
        assert numbers(page, column) == sorted(numbers(page, column))
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "descending"
        assert numbers(page, column) == sorted(numbers(page, column), reverse=True)
    assert page.locator("#table th[aria-sort]").count() == 1
    page.fill("#search", "hour 6")
    shown = page.locator("#table tbody tr:not([hidden])")
    assert 0 < shown.count() < page.locator("#table tbody tr").count()
    assert all("hour 6" in row for row in shown.all_inner_texts())
    page.fill("#search", "nothing is called so")
    assert shown.count() == 0
    assert page.inner_text("#counted").startswith("0 of")
    page.fill("#search", "")
    page.click("#more button")
    assert shown.count() == page.locator("#table tbody tr").count()
    it.check()


def test_points_can_be_found_by_name(opened):
    it = opened("table")
    page = it.page
    page.fill("#find-point", "HOUR 6")
    listed = page.locator("#point option").all_inner_texts()
    assert listed
    assert all("hour 6" in name for name in listed)
    page.fill("#find-point", "nothing is called so")
    assert page.inner_text("#said") == "No point has such a name."
    it.check()


@pytest.mark.parametrize("preferred", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_button(opened, preferred):
    it = opened("table", color_scheme=preferred)
    page = it.page

    def brightness() -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))

    before = brightness()
    assert (before > 380) == (preferred == "light")
    page.click("#theme")
    assert (brightness() > 380) != (preferred == "light")
    assert page.get_attribute("#theme", "aria-pressed") == str(preferred == "light").lower()
    page.click("#theme")
    assert brightness() == before
    it.check()


@pytest.mark.parametrize("kind", KINDS)
def test_on_a_phone_nothing_leaves_the_screen(opened, kind):
    it = opened(kind, width=360)
    assert it.page.evaluate("document.documentElement.scrollWidth") <= 360
    it.page.click("#next")
    assert it.page.evaluate("document.documentElement.scrollWidth") <= 360
    it.page.set_viewport_size({"width": 1400, "height": 800})
    assert it.page.evaluate("document.documentElement.scrollWidth") <= 1400
    it.check()


def test_the_keyboard_alone_reaches_everything(opened):
    it = opened("images")
    page = it.page
    reached: list[str] = []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(400):
        page.keyboard.press("Tab")
        name = "(e => e.id || e.className?.baseVal || e.dataset?.column || e.tagName)(document.activeElement)"
        reached.append(page.evaluate(name))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", reached[-1]
        if reached[-1] == "SUMMARY":
            break
    for name in ("theme", "find-point", "point", "previous", "next", "search", "colour", "SUMMARY"):
        assert name in reached, name
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1
    it.check()


def test_the_map_is_walked_with_the_arrow_keys(opened):
    it = opened("images")
    page = it.page
    page.select_option("#colour", "label")
    assert page.locator("#map-box .legend span").count() == 10
    page.focus("#map-box svg")
    page.keyboard.press("ArrowRight")
    said = page.inner_text("#map-said")
    assert said.startswith("Point ")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#map-said") != said
    name = page.inner_text("#map-said").split(",")[0]
    page.keyboard.press("Enter")
    assert page.inner_text("#said").startswith(f"{name}:")
    it.check()


def test_the_map_is_picked_with_the_mouse(opened):
    it = opened("table")
    it.page.locator("#map-box path.place").nth(5).dispatch_event("click")
    name = it.page.inner_text("#map-said").split(",")[0]
    assert it.page.inner_text("#said").startswith(f"{name}:")
    it.check()


def test_without_script_all_but_picking_is_there(opened):
    it = opened("table", java_script_enabled=False)
    text = it.page.locator("main").inner_text()
    for words in ("What was found", "Picking points needs JavaScript", "Component 1", "Suspects"):
        assert words in text
    assert it.page.locator("#table tbody tr").count() > 10


def test_in_print_controls_are_gone_and_rows_are_all_there(opened):
    it = opened("table")
    it.page.emulate_media(media="print")
    it.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert not it.page.is_visible("#theme")
    assert not it.page.is_visible("nav")
    assert it.page.locator("#table tbody tr[hidden]").count() == 0
    assert len(it.page.pdf()) > 10_000
    it.check()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_serious(opened, kind, width, theme):
    from axe_playwright_python.sync_playwright import Axe

    it = opened(kind, width=width, color_scheme=theme, bypass_csp=True)
    found = Axe().run(it.page).response["violations"]
    serious = [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []
