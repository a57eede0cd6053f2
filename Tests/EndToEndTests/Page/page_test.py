# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""Opens the page of `tarn demo` in headless Chromium and does what a person does there.

usage: page_test.py STAGE_ADDRESS SCREENSHOT_FOLDER

Ends with exit code 0 and the line "page: ok", or with 1 and one sentence that says what was not as it should be. Any
message of kind "error" on a browser console, and any exception in a page, is a failure.
"""

import re
import struct
import sys
import zlib
from pathlib import Path

from playwright.sync_api import Error, expect, sync_playwright

WAIT_MS = 60_000
HOSTILE = "<img src=x onerror=\"document.title='broken'\"><b>not bold</b>"


def png(width, height):
    """A picture made here: a soft gradient."""
    rows = b"".join(
        b"\0" + b"".join(bytes((60 + 120 * x // width, 110 + 90 * y // height, 150)) for x in range(width)) for y in range(height)
    )

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_post(device, title, text):
    device.get_by_role("button", name="New post").click()
    device.get_by_label("Title", exact=True).fill(title)
    device.get_by_label("Text", exact=True).fill(text)
    expect(card(device, title)).to_have_count(1)


def card(device, title):
    return device.locator(".card").filter(has_text=title)


def run(stage, folder, complaints):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(WAIT_MS)
        expect.set_options(timeout=WAIT_MS)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(stage)
        ipad = page.frame_locator("iframe[title=iPad]")
        iphone = page.frame_locator("iframe[title=iPhone]")
        for device, name in ((ipad, "iPad"), (iphone, "iPhone")):
            expect(device.locator("h1")).to_have_text(name)
            expect(device.locator("#sync-text")).to_have_text("Up to date")

        # A post that one side writes is on the other by itself, with its markup shown as text.
        write_post(ipad, "From the iPad", HOSTILE)
        expect(card(iphone, "From the iPad")).to_be_visible()
        expect(iphone.locator(".card-text").first).to_have_text(HOSTILE)
        expect(iphone.locator("#latency")).to_have_text(re.compile(r"Last save to visible: [\d.]+ (ms|s)"))

        # A tag and a picture, on the iPad; the phone shows both.
        ipad.get_by_label("Name of a new tag").fill("lake")
        ipad.get_by_role("button", name="Add tag").click()
        expect(iphone.locator(".card .chip")).to_have_text("lake")
        ipad.get_by_label("Attach a picture").set_input_files(
            {"name": "lake.png", "mimeType": "image/png", "buffer": png(640, 480)})
        expect(ipad.locator(".attachments .thumb")).to_be_visible()
        thumbnail = iphone.locator(".card img.thumb")
        expect(thumbnail).to_be_visible()
        expect(thumbnail).to_have_js_property("naturalWidth", 240)

        # The phone reads the post and opens the picture.
        card(iphone, "From the iPad").click()
        expect(iphone.get_by_label("Title", exact=True)).to_have_value("From the iPad")
        iphone.locator(".attachments button").click()
        expect(iphone.locator("#viewer-image")).to_have_js_property("naturalWidth", 640)
        page.screenshot(path=folder / "stage-picture.png")
        iphone.get_by_role("button", name="Close").click()
        page.screenshot(path=folder / "stage.png")

        # Offline: each side goes on alone.
        iphone.locator("#network .track").click()
        expect(iphone.locator("#network-text")).to_have_text("Offline")
        expect(iphone.locator("#sync-text")).to_have_text(re.compile("Offline"))
        iphone.get_by_label("Title", exact=True).fill("Edited on the iPhone")
        iphone.get_by_label("Back to all posts").click()
        write_post(iphone, "Written offline", "It waits on the phone.")
        write_post(ipad, "Meanwhile on the iPad", "It waits on the server.")
        expect(iphone.locator("#sync-text")).to_have_text(re.compile(r"Offline · \d+ waiting"))
        expect(card(ipad, "Written offline")).to_have_count(0)
        expect(card(iphone, "Meanwhile on the iPad")).to_have_count(0)
        page.screenshot(path=folder / "stage-offline.png")

        # Back online: both have everything.
        iphone.locator("#network .track").click()
        for device in (ipad, iphone):
            for title in ("Edited on the iPhone", "Written offline", "Meanwhile on the iPad"):
                expect(card(device, title)).to_have_count(1)
            expect(device.locator("#sync-text")).to_have_text("Up to date")

        # A post that is open on one side and goes to the trash on the other closes there.
        iphone.get_by_label("Back to all posts").click()
        card(ipad, "Written offline").click()
        card(iphone, "Written offline").click()
        iphone.get_by_role("button", name="Move to trash").click()
        expect(ipad.locator("#no-post")).to_be_visible()
        expect(ipad.locator("#notice")).to_contain_text("moved to the trash on another device")
        expect(card(ipad, "Written offline")).to_have_count(0)
        trash(page, ipad, iphone, folder)

        narrow(page, folder)
        browser.close()


def trash(page, ipad, iphone, folder):
    """What one side put into the trash the other restores, and an emptied trash is empty on both."""
    for device in (ipad, iphone):
        expect(device.locator("#trash-count")).to_have_text("1")
        device.locator("#open-trash").click()
        expect(device.locator(".trashed")).to_have_count(1)
    page.screenshot(path=folder / "stage-trash.png")
    ipad.get_by_label("Restore Written offline").click()
    for device in (ipad, iphone):
        expect(device.locator("#no-trash")).to_be_visible()
        expect(device.get_by_role("button", name="Empty trash")).to_be_disabled()
        device.get_by_label("Back from the trash").click()
        expect(card(device, "Written offline")).to_be_visible()

    card(ipad, "Written offline").click()
    ipad.get_by_role("button", name="Move to trash").click()
    iphone.locator("#open-trash").click()
    expect(iphone.get_by_label("Restore Written offline")).to_be_visible()
    questions = []
    page.once("dialog", lambda dialog: (questions.append(dialog.message), dialog.dismiss()))
    iphone.get_by_role("button", name="Empty trash").click()
    expect(iphone.get_by_label("Restore Written offline")).to_be_visible()
    page.once("dialog", lambda dialog: (questions.append(dialog.message), dialog.accept()))
    iphone.get_by_role("button", name="Empty trash").click()
    for device in (ipad, iphone):
        expect(device.locator("#trash-count")).to_have_text("")
        expect(device.locator(".trashed")).to_have_count(0)
        expect(card(device, "Written offline")).to_have_count(0)
    assert questions == ["Delete 1 post for good?"] * 2, questions
    iphone.get_by_label("Back from the trash").click()


def narrow(page, folder):
    """The page is usable at the width of a phone, and nothing sticks out sideways."""
    page.set_viewport_size({"width": 390, "height": 844})
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if overflow > 0:
        raise AssertionError(f"at 390 points the stage is {overflow} points too wide")
    page.screenshot(path=folder / "stage-narrow.png", full_page=True)


def main():
    stage, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    complaints = []
    try:
        run(stage, folder, complaints)
    except (AssertionError, Error) as problem:
        print(f"page: {problem}", file=sys.stderr)
        return 1
    finally:
        for complaint in complaints:
            print(f"page: the browser complained: {complaint}", file=sys.stderr)
    if complaints:
        return 1
    print("page: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
