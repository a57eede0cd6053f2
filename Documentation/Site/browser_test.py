# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""usage: browser_test.py SITE [SCREENSHOTS]

Reads the documentation in Chromium, as files and without a network: searches, follows, filters, and looks for faults of
accessibility on every guide and on some pages of symbols, in light and dark and at the width of a phone.
"""
import re
import sys
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
# The audit of the console's test.
FAULTS = re.search(r'FAULTS = """(.*?)"""', (ROOT / "Tests/EndToEndTests/Page/console_test.py").read_text(encoding="utf-8"), re.DOTALL)[1].replace("\\\\", "\\")


def audit(page, path):
    faults = page.evaluate(FAULTS)
    assert not faults, (path, faults[:10])


def check_pages(context, site, paths, complaints):
    page = context.new_page()
    page.on("console", lambda message: complaints.append(f"{page.url}: {message.text}") if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    for path in paths:
        page.goto((site / path).as_uri())
        audit(page, path)
    page.close()


def search(page, site):
    """By keyboard: the slash, words, the arrow and Enter lead to a symbol; Escape closes the list."""
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("/")
    box = page.get_by_role("combobox")
    expect(box).to_be_focused()
    page.keyboard.type("sync timeout")
    first = page.get_by_role("option").first
    expect(first).to_contain_text("sync(timeout:)")
    expect(page.get_by_role("status")).to_contain_text("results")
    audit(page, "results")
    page.keyboard.press("ArrowDown")
    expect(first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url("**/reference/coredata/nspersistentcloudkitcontainer.html#sync(timeout:)")
    expect(page.locator("[id='sync(timeout:)']")).to_be_in_viewport()
    box.fill("giraffe")
    expect(page.locator("#results")).to_contain_text("No page has these words.")
    page.keyboard.press("Escape")
    expect(page.locator("#results")).to_be_hidden()
    # From a page in a folder to a guide.
    box.fill("conflicts")
    page.get_by_role("option").filter(has_text="Guide").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Conflicts")


def follow(page, site):
    """The pages in reading order: each leads to the next one, and the last one has no next."""
    page.goto((site / "index.html").as_uri())
    count = 1
    while page.locator("a.next").count():
        page.locator("a.next").click()
        count += 1
    assert count >= 30, count
    page.locator("a.prev").click()
    # An anchor of a heading is its address.
    page.goto((site / "guides/runningaserver.html").as_uri())
    page.get_by_role("link", name="Link to Backups").click()
    page.wait_for_url("**/runningaserver.html#backups")


def copy(page, site):
    page.goto((site / "guides/installing.html").as_uri())
    button = page.get_by_role("button", name="Copy").first
    button.focus()
    button.press("Enter")
    expect(page.get_by_role("button", name=re.compile("Copied|Selected"))).to_be_visible()


def ledger(page, site):
    page.goto((site / "guides/parity.html").as_uri())
    rows = page.locator(".ledger tbody tr:visible")
    everything = rows.count()
    assert everything > 200, everything
    page.get_by_label("State", exact=True).select_option("absent")
    absent = rows.count()
    assert 0 < absent < everything, absent
    page.get_by_label("State", exact=True).select_option("")
    page.get_by_label("Symbol or word").fill("NSBatchDeleteRequest")
    assert 0 < rows.count() < 20, rows.count()
    expect(page.locator(".filter output")).to_contain_text("row")


def keyboard(page, site):
    """The first stop skips to the content, and every stop can be seen."""
    page.goto((site / "guides/conflicts.html").as_uri())
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    for _ in range(25):
        page.keyboard.press("Tab")
        style = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert style != "none", page.evaluate("() => document.activeElement.outerHTML")


def phone(context, site):
    page = context.new_page()
    page.goto((site / "guides/conflicts.html").as_uri())
    expect(page.get_by_role("navigation", name="Contents")).to_be_hidden()
    page.get_by_role("button", name="Contents").click()
    page.get_by_role("navigation", name="Contents").get_by_role("link", name="Testing sync").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Testing sync")
    page.close()


def main(site, screenshots):
    complaints = []
    guides = sorted(str(path.relative_to(site)) for folder in ("guides", "problems", "decisions") for path in (site / folder).glob("*.html"))
    symbols = sorted(str(path.relative_to(site)) for path in (site / "reference").rglob("*.html"))
    # Each twentieth, and the modules.
    sample = [path for number, path in enumerate(symbols) if number % 20 == 0 or path.endswith("index.html")]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        wide, narrow = {"width": 1300, "height": 900}, {"width": 390, "height": 800}
        for scheme, size, paths in (("light", wide, guides + sample), ("dark", wide, guides[::4] + sample[::3]), ("light", narrow, guides + sample)):
            context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
            check_pages(context, site, ["index.html", *paths], complaints)
            context.close()
        context = browser.new_context(viewport=wide, offline=True)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for step in (search, follow, copy, ledger, keyboard):
            step(page, site)
        phone(browser.new_context(viewport=narrow, offline=True), site)
        if screenshots:
            screenshots.mkdir(parents=True, exist_ok=True)
            for name in ("index.html", "guides/conflicts.html", "reference/coredata/nspersistentcloudkitcontainer.html"):
                page.goto((site / name).as_uri())
                page.screenshot(path=str(screenshots / (name.replace("/", "-") + ".png")))
        browser.close()
    assert not complaints, complaints[:10]
    print(f"{len(guides) + 1} guides and {len(sample)} pages of symbols read")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
