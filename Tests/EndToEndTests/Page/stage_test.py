# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""Uses the server pane, the plugs, the conflict card and the tour of `tarn demo` in headless Chromium.

usage: stage_test.py STAGE_ADDRESS SCREENSHOT_FOLDER

Ends with exit code 0 and the line "stage: ok", or with 1 and one sentence that names the failed expectation. An exception in a
page, and a console message of the kind "error", fail the test; requests to a killed process are expected to fail.
"""

import re
import sys
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Error, expect, sync_playwright

WAIT_MS = 60_000
# The browser reports requests to a process that the test killed.
EXPECTED = re.compile(r"Failed to load resource: net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|CONNECTION_RESET)")


def card(device, title):
    return device.locator("#posts .card").filter(has_text=title)


def write_post(device, title, text):
    device.get_by_role("button", name="New post").click()
    device.get_by_label("Title", exact=True).fill(title)
    device.get_by_label("Text", exact=True).fill(text)
    expect(card(device, title)).to_have_count(1)


def back(device):
    """On a narrow device, the list is behind the post."""
    if device.get_by_label("Back to all posts").is_visible():
        device.get_by_label("Back to all posts").click()


class Stage:
    def __init__(self, page, folder):
        self.page, self.folder = page, folder
        self.ipad = page.frame_locator("iframe[title=iPad]")
        self.iphone = page.frame_locator("iframe[title=iPhone]")
        self.pair = (self.ipad, self.iphone)
        self.verdict = page.locator("#verdict")

    def shoot(self, name):
        self.page.screenshot(path=self.folder / f"stage-{name}.png", full_page=True)

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def in_step(self):
        expect(self.verdict).to_have_attribute("data-kind", "inStep")

    @contextmanager
    def saved_on_ipad(self):
        """Waits until the server has the save that the body makes on the iPad."""
        newest = self.page.locator("#journeys .journey").filter(has_text="on the iPad").first
        before = newest.get_attribute("data-journey") if newest.count() > 0 else ""
        yield
        expect(newest).not_to_have_attribute("data-journey", before)
        expect(newest.locator(".steps")).to_contain_text("commit")

    def journal(self):
        """Content to begin with: six posts, and four pictures."""
        self.ipad.get_by_role("button", name="Add a journal with pictures").click()
        for device in self.pair:
            expect(device.locator("#posts .card")).to_have_count(6)
            expect(device.locator("#posts img.thumb")).to_have_count(4)
        self.in_step()

    def journeys(self):
        write_post(self.ipad, "A loaf for the hut", "Two loaves, and a postcard.")
        expect(card(self.iphone, "A loaf for the hut")).to_be_visible()
        newest = self.page.locator("#journeys .journey").first
        expect(newest).to_contain_text("on the iPad")
        for step in ("save", "export", "commit", "push", "import on iPhone"):
            expect(newest.locator(".steps")).to_contain_text(re.compile(step + r" (<1|[\d.]+) (ms|s)"))
        expect(newest.locator(".total")).to_have_text(re.compile(r"[\d.]+ (ms|s)"))
        self.page.locator("summary").click()
        expect(self.page.locator("#requests")).to_contain_text("records/modify")
        self.shoot("journeys")
        self.page.locator("summary").click()

    def changed_elsewhere(self):
        card(self.iphone, "A loaf for the hut").click()
        self.ipad.get_by_label("Text", exact=True).fill("Three loaves, and a postcard.")
        expect(self.iphone.locator("#changed")).to_contain_text("Changed on another device while you looked: text")
        expect(self.iphone.get_by_label("Text", exact=True)).to_have_value("Three loaves, and a postcard.")
        expect(self.ipad.locator("#changed")).to_have_text("")
        back(self.iphone)

    def search(self):
        self.iphone.get_by_label("Search posts").fill("lake heron")
        expect(self.iphone.locator("#posts .card")).to_have_count(1)
        self.iphone.get_by_label("Search posts").fill("")
        self.iphone.locator("#filter").get_by_role("button", name="hut").click()
        expect(self.iphone.locator("#posts .card")).to_have_count(2)
        self.iphone.locator("#filter").get_by_role("button", name="hut").click()
        self.iphone.get_by_label("Search posts").fill("nothing like this")
        expect(self.iphone.locator("#no-match")).to_be_visible()
        self.iphone.get_by_label("Search posts").fill("")

    def kill_server(self):
        self.press("Kill the server")
        expect(self.verdict).to_contain_text("The server is not running")
        write_post(self.ipad, "Written without a server", "On the iPad.")
        write_post(self.iphone, "Written without a server, too", "On the iPhone.")
        back(self.iphone)
        expect(self.iphone.locator("#sync-text")).to_have_text(re.compile(r"Reaching the server · \d+ waiting"))
        self.shoot("server-killed")
        self.press("Start the server")
        for device in self.pair:
            expect(card(device, "Written without a server")).to_have_count(2)
        self.in_step()
        expect(self.page.locator("#log")).to_contain_text("All that was there before is there.")

    def kill_device(self):
        count = self.ipad.locator("#posts .card").count()
        self.press("Kill the iPad")
        expect(self.page.get_by_role("button", name="Start the iPad").first).to_be_visible()
        expect(self.verdict).to_contain_text("The iPad is not running")
        write_post(self.iphone, "While the iPad was gone", "It will see this.")
        back(self.iphone)
        self.shoot("device-killed")
        self.page.locator(".ipad .dead button").click()
        expect(self.ipad.locator("#posts .card")).to_have_count(count + 1)
        self.in_step()

    def conflict(self):
        self.press("Cut the network of the iPhone")
        expect(self.iphone.locator("#network-text")).to_have_text("Offline")
        card(self.iphone, "While the iPad was gone").click()
        self.iphone.get_by_label("Title", exact=True).fill("Named on the iPhone")
        card(self.ipad, "While the iPad was gone").click()
        # The device that exports second has the conflict: the iPhone.
        with self.saved_on_ipad():
            self.ipad.get_by_label("Title", exact=True).fill("Named on the iPad")
        expect(self.iphone.locator("#sync-text")).to_have_text(re.compile(r"Offline · \d+ waiting"))
        expect(self.verdict).to_contain_text("The iPhone has no network.")
        self.press("Restore the network of the iPhone")
        conflict = self.iphone.locator(".conflict")
        expect(conflict).to_contain_text("Two devices changed the title at the same time")
        expect(conflict).to_contain_text("Named on the iPhone")
        expect(conflict).to_contain_text("Named on the iPad")
        self.in_step()
        self.shoot("conflict")
        conflict.get_by_role("button", name="Restore Named on the iPad").click()
        expect(conflict).to_have_count(0)
        for device in self.pair:
            expect(card(device, "Named on the iPad")).to_have_count(1)
            expect(card(device, "Named on the iPhone")).to_have_count(0)
        back(self.iphone)

    def tour(self):
        self.press("Tour in five steps")
        expect(self.page.locator("#tour-title")).to_be_focused()
        result = self.page.locator("#tour-result")
        for step in range(1, 5):
            expect(self.page.locator("#tour-title")).to_contain_text(f"{step}. ")
            self.press("Show me")
            expect(result).not_to_have_text("")
            expect(self.page.locator("#tour-perform")).to_have_text("Show me")
            if step == 3:
                self.shoot("tour")
                self.iphone.get_by_role("button", name=re.compile("^Keep ")).click()
            self.press("Next")
        self.press("Close")

    def guest(self):
        self.press("More devices")
        self.press("Start the third device")
        link = self.page.locator("#guest-link")
        expect(link).to_be_visible()
        expect(self.page.locator("#guest-text")).to_contain_text("--share-on-network")
        self.shoot("guest")
        with self.page.expect_popup() as opened:
            link.click()
        guest = opened.value
        expect(guest.locator("#device")).to_have_text("Guest")
        expect(guest.locator("#posts .card").filter(has_text="Named on the iPad")).to_have_count(1)
        guest.close()
        self.press("Close")

    def second_user(self):
        """A post that the iPad shares is Ben's, too, and so is the board."""
        self.press("More devices")
        self.press("Start Ben's device")
        link = self.page.locator("#ben-link")
        expect(link).to_be_visible()
        with self.page.expect_popup() as opened:
            link.click()
        ben = opened.value
        expect(ben.locator("#device")).to_have_text("Ben")
        self.press("Close")
        write_post(self.ipad, "Whose turn is it", "Bring the postcard.")
        self.ipad.get_by_role("button", name="Share", exact=True).click()
        expect(self.ipad.locator("#sharing-link")).to_be_visible()
        address = self.ipad.locator("#sharing-link").input_value()
        self.shoot("share")
        self.ipad.locator("#sharing").get_by_role("button", name="Close").click()
        ben.get_by_role("button", name=re.compile("^Public board")).click()
        ben.get_by_label("Link of a shared post").fill(address)
        ben.get_by_role("button", name="Accept").click()
        card(ben, "Whose turn is it").click()
        expect(ben.get_by_label("Text", exact=True)).to_have_value("Bring the postcard.")
        ben.get_by_label("Text", exact=True).fill("Bring the postcard. It is on the table.")
        expect(self.ipad.get_by_label("Text", exact=True)).to_have_value("Bring the postcard. It is on the table.")
        expect(card(self.ipad, "Whose turn is it").locator(".badge")).to_have_text("shared")
        ben.get_by_role("button", name=re.compile("^Public board")).click()
        ben.get_by_label("Text of a notice").fill("Lost: one glove, green")
        ben.get_by_role("button", name="Post", exact=True).click()
        ben.screenshot(path=self.folder / "stage-ben.png")
        self.iphone.get_by_role("button", name=re.compile("^Public board")).click()
        expect(self.iphone.locator("#notices")).to_contain_text("Lost: one glove, green")
        expect(self.iphone.locator("#notices").get_by_role("button")).to_have_count(0)
        expect(ben.locator("#notices").get_by_role("button")).to_have_count(1)
        self.shoot("board")
        self.iphone.get_by_label("Back from the board").click()
        ben.close()

    def other_version(self):
        """Version 2 of the app shows a title of version 1 as headline and subtitle, and the reverse."""
        self.press("More devices")
        self.press("Start the tablet")
        expect(self.page.locator("#guest")).to_be_hidden()
        tablet = self.page.frame_locator("iframe[title=Tablet]")
        expect(tablet.locator("#introduction")).to_contain_text("Version 2 of the app")
        expect(tablet.locator("#posts .card")).to_have_count(self.ipad.locator("#posts .card").count())
        card(tablet, "2,871 m").click()
        expect(tablet.get_by_label("Headline", exact=True)).to_have_value("Ridge")
        expect(tablet.get_by_label("Subtitle", exact=True)).to_have_value("2,871 m")
        card(self.ipad, "Ridge, 2,871 m").click()
        self.ipad.get_by_label("Title", exact=True).fill("Ridge, 2,900 m")
        expect(tablet.get_by_label("Subtitle", exact=True)).to_have_value("2,900 m")
        expect(tablet.locator("#lens")).to_have_text("The lens split the title “Ridge, 2,900 m” of version 1 into “Ridge” and “2,900 m”.")
        self.shoot("tablet")
        tablet.get_by_label("Subtitle", exact=True).fill("2,871 m")
        expect(self.ipad.get_by_label("Title", exact=True)).to_have_value("Ridge, 2,871 m")
        expect(tablet.locator("#lens")).to_have_text("The lens joined headline and subtitle: version 1 shows the title “Ridge, 2,871 m”.")
        expect(self.ipad.locator("#lens")).to_be_hidden()
        self.press("Kill the Tablet")
        self.page.locator("[data-actor=Tablet] .dead button").click()
        expect(card(tablet, "2,871 m")).to_be_visible()

    def mirror(self):
        """A device with TarnMirror has the same posts, and neither shares nor the board."""
        self.press("More devices")
        expect(self.page.locator("#tablet-start")).to_be_disabled()
        self.press("Start the mirror")
        mirror = self.page.frame_locator("iframe[title=Mirror]")
        expect(mirror.locator("#introduction")).to_contain_text("TarnMirror")
        expect(mirror.locator("#posts img.thumb")).to_have_count(4)
        write_post(mirror, "Written on the mirror", "A save like any other.")
        expect(mirror.get_by_role("button", name="Share", exact=True)).to_be_hidden()
        expect(mirror.get_by_role("button", name=re.compile("^Public board"))).to_be_hidden()
        card(self.ipad, "Written on the mirror").click()
        self.ipad.get_by_label("Text", exact=True).fill("Continued on the iPad.")
        expect(mirror.get_by_label("Text", exact=True)).to_have_value("Continued on the iPad.")
        expect(mirror.locator("#sync-text")).to_have_text("Up to date")
        self.shoot("mirror")
        self.press("Cut the network of the Mirror")
        expect(mirror.locator("#sync-text")).to_have_text(re.compile("^Offline"))
        # The post is open on both. The mirror sends its title second, and has the other one in its conflict log.
        mirror.get_by_label("Title", exact=True).fill("Titled on the mirror")
        with self.saved_on_ipad():
            self.ipad.get_by_label("Title", exact=True).fill("Titled on the iPad")
        expect(mirror.locator("#sync-text")).to_have_text(re.compile(r"Offline · \d+ waiting"))
        self.press("Restore the network of the Mirror")
        conflict = mirror.locator(".conflict")
        expect(conflict).to_contain_text("Titled on the iPad")
        self.shoot("mirror-conflict")
        conflict.get_by_role("button", name="Restore Titled on the iPad").click()
        expect(conflict).to_have_count(0)
        back(mirror)
        for device in (mirror, self.ipad):
            expect(card(device, "Titled on the iPad")).to_have_count(1)
        expect(mirror.locator("#sync-text")).to_have_text("Up to date")

    def console(self):
        with self.page.expect_popup() as opened:
            self.page.get_by_role("link", name="Open the console").click()
        console = opened.value
        expect(console.get_by_role("heading", name="Sign in")).to_have_count(0)
        expect(console.locator("main")).to_contain_text("iCloud.posts")
        console.get_by_role("link", name="Development").first.click()
        console.get_by_role("navigation").get_by_role("link", name="Reach").click()
        for client in ("Tarn’s CloudKit module", "TarnMirror"):
            expect(console.locator("main tbody")).to_contain_text(client)
        console.screenshot(path=self.folder / "stage-reach.png", full_page=True)
        console.close()

    def looks(self):
        """Every theme and width: nothing sticks out sideways."""
        for theme in ("light", "dark"):
            self.page.emulate_media(color_scheme=theme)
            for width, height in ((1440, 900), (1024, 768), (390, 844)):
                self.page.set_viewport_size({"width": width, "height": height})
                overflow = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                if overflow > 0:
                    raise AssertionError(f"at {width} points the stage is {overflow} points too wide")
                self.shoot(f"{theme}-{width}")


def run(address, folder, complaints):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(WAIT_MS)
        expect.set_options(timeout=WAIT_MS)

        def note(message):
            if message.type == "error" and not EXPECTED.search(message.text):
                complaints.append(message.text)

        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        stage = Stage(page, folder)
        for device in stage.pair:
            expect(device.locator("#sync-text")).to_have_text("Up to date")
        stage.shoot("empty")
        for part in (
            stage.journal, stage.journeys, stage.changed_elsewhere, stage.search, stage.kill_server, stage.kill_device, stage.conflict,
            stage.tour, stage.guest, stage.second_user, stage.other_version, stage.mirror, stage.console, stage.looks,
        ):
            try:
                part()
            except (AssertionError, Error) as problem:
                stage.shoot("failed")
                raise AssertionError(f"{part.__name__}: {problem}") from problem
        browser.close()


def main():
    address, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    complaints = []
    try:
        run(address, folder, complaints)
    except (AssertionError, Error) as problem:
        print(f"stage: {problem}", file=sys.stderr)
        return 1
    finally:
        for complaint in complaints:
            print(f"stage: the browser complained: {complaint}", file=sys.stderr)
    if complaints:
        return 1
    print("stage: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
