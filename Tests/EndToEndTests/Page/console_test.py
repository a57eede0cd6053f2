# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""Walks the console of a server in headless Chromium, and uses /cloudkit.js on a page of another origin.

usage: console_test.py SERVER_ADDRESS API_TOKEN CONTAINER [FIRST_RUN_LINK] SCREENSHOT_FOLDER

There is an account `mia`, and the public database has a Plant. Without a link mia is an operator with the password `correct horse`;
the link makes the first operator, who makes mia one. Ends with exit
code 0 and the line "console: ok", or with 1 and one sentence that says what was not as it should be. Any exception in a
page is a failure, and so is any error on a console but those that a refused request causes by itself.
"""

import http.server
import re
import sys
import threading
from pathlib import Path

from playwright.sync_api import Error, expect, sync_playwright

WAIT_MS = 30_000

PAGE = """<!doctype html><title>App</title>
<div id="apple-sign-in-button"></div><div id="apple-sign-out-button"></div>
<script src="{server}/cloudkit.js"></script>
<script>
CloudKit.configure({{ containers: [{{ containerIdentifier: "{container}", environment: "development",
  apiTokenAuth: {{ apiToken: "{token}", persist: true }} }}] }});
</script>"""

WORK = """async () => {
  const container = CloudKit.getDefaultContainer();
  const database = container.privateCloudDatabase;
  const seen = [];
  // A data folder that was used before has one.
  await database.deleteRecordZones("Kitchen");
  const zones = await database.saveRecordZones("Kitchen");
  seen.push(zones.zones[0].zoneID.zoneName);
  const zone = { zoneID: { zoneName: "Kitchen" } };
  const saved = await database.saveRecords({ recordType: "Jar", recordName: "j1", fields: { label: "Salt", size: { value: 2 } } }, zone);
  seen.push(saved.records[0].fields.label.value);
  const changed = await database.saveRecords({ ...saved.records[0], fields: { label: { value: "Pepper" } } }, zone);
  seen.push(changed.records[0].fields.label.value);
  const stale = await database.saveRecords({ ...saved.records[0], fields: { label: { value: "Lost" } } }, zone);
  seen.push(stale.errors[0].ckErrorCode);
  const found = await database.performQuery({ recordType: "Jar",
    filterBy: { fieldName: "label", comparator: "EQUALS", fieldValue: "Pepper" } }, zone);
  seen.push(found.records.length);
  const changes = await database.fetchRecordZoneChanges(zone);
  seen.push(changes.zones[0].records.map(record => record.recordName).join());
  await database.saveSubscriptions({ subscriptionID: "all", subscriptionType: CloudKit ? "DATABASE" : "" });
  await container.registerForNotifications();
  const told = new Promise((resolve, reject) => {
    container.addNotificationListener(resolve);
    setTimeout(() => reject(new Error("no notification came within a minute")), 60000);
  });
  // Another page of the same person.
  const other = CloudKit.configure({ containers: [{ containerIdentifier: container.containerIdentifier,
    environment: "development", apiTokenAuth: { apiToken: container._config.apiTokenAuth.apiToken, persist: true } }] });
  const batch = other.getDefaultContainer().privateCloudDatabase.newRecordsBatch(zone);
  const committed = await batch.create({ recordType: "Jar", recordName: "j2" }).forceDelete("j1").commit();
  if (committed.hasErrors) throw committed.errors[0];
  seen.push((await told).notificationType);
  const after = await database.fetchRecordZoneChanges({ ...zone, syncToken: changes.zones[0].syncToken });
  seen.push(after.zones[0].records.map(record => (record.deleted ? "-" : "+") + record.recordName).sort().join());
  const missing = await database.fetchRecords("nothing", zone);
  seen.push(missing.errors[0].ckErrorCode);
  container.unregisterForNotifications();
  return seen.join(" ");
}"""


def use_script(browser, server, token, container, complaints):
    body = PAGE.format(server=server, container=container, token=token).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            if self.path == "/":
                self.wfile.write(body)

        def log_message(self, *values):
            pass

    own = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=own.serve_forever, daemon=True).start()
    context = browser.new_context()
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"http://127.0.0.1:{own.server_port}/")
    assert page.evaluate("() => CloudKit.getDefaultContainer().setUpAuth()") is None, "somebody is signed in already"
    with context.expect_page() as opened:
        page.get_by_role("button", name="Sign in").click()
    popup = opened.value
    popup.get_by_label("Name or email address").fill("mia")
    popup.get_by_label("Password").fill("wrong")
    popup.get_by_role("button", name="Sign in").click()
    expect(popup.get_by_role("alert")).to_contain_text("wrong")
    popup.get_by_label("Name or email address").fill("mia")
    popup.get_by_label("Password").fill("correct horse")
    popup.get_by_label("Password").press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    seen = page.evaluate(WORK)
    assert seen == "Kitchen Salt Pepper CONFLICT 1 j1 DATABASE +j2,-j1 NOT_FOUND", seen
    page.reload()
    assert page.evaluate("() => CloudKit.getDefaultContainer().setUpAuth()")["userRecordName"].startswith("_"), "the token is lost"
    missing = page.evaluate(Path(__file__).with_name("surface.js").read_text(encoding="utf-8"))
    assert not missing, missing
    # It configures the script anew.
    odd = page.evaluate(Path(__file__).with_name("odd_inputs.js").read_text(encoding="utf-8"))
    assert not odd, odd
    page.reload()
    assert page.evaluate("() => CloudKit.getDefaultContainer().setUpAuth()")["userRecordName"].startswith("_"), "the token is lost"
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    own.shutdown()


# Controls without a name, headings and landmarks out of order, text with too little contrast, and pages that are wider than their window.
# Source: WCAG 2.2, 1.3.1, 1.4.3, 2.4.1, 4.1.2.
FAULTS = """() => {
  const seen = [];
  const isShown = element => element.checkVisibility() && getComputedStyle(element).visibility === "visible";
  for (const control of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!control.labels.length && !control.ariaLabel) seen.push("no label: " + control.outerHTML);
  }
  for (const control of document.querySelectorAll("a, button, summary")) {
    if (!control.textContent.trim() && !control.ariaLabel) seen.push("no text: " + control.outerHTML);
  }
  for (const picture of document.querySelectorAll("svg")) {
    if (picture.getAttribute("role") !== "img" || !picture.getAttribute("aria-label")) seen.push("a drawing without a text");
  }
  const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) seen.push("two elements have the id " + id);
  for (const element of document.querySelectorAll("[aria-describedby]")) {
    if (!document.getElementById(element.getAttribute("aria-describedby"))) seen.push("described by nothing: " + element.outerHTML);
  }
  for (const name of ["header", "main"]) if (document.querySelectorAll(name).length !== 1) seen.push("not one " + name);
  if (!document.documentElement.lang) seen.push("no language");
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) seen.push(`a heading of level ${next} after one of level ${level}: ` + heading.textContent);
    level = next;
  }
  if (document.querySelectorAll("h1").length !== 1) seen.push("not one h1");
  const parts = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const luminance = ([red, green, blue]) => [red, green, blue].map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4).reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const backgroundOf = element => {
    for (let place = element; place; place = place.parentElement) {
      const colour = parts(getComputedStyle(place).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !isShown(element) || element.closest("[disabled], svg, .skip")) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const [light, dark] = [luminance(parts(style.color)), luminance(backgroundOf(element))].sort((a, b) => b - a);
    const least = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700 ? 3 : 4.5;
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < least) seen.push(`contrast ${ratio.toFixed(2)}: ` + walker.currentNode.data.trim().slice(0, 40));
  }
  if (document.documentElement.scrollWidth > innerWidth) seen.push("wider than its window: " + location.pathname);
  return seen;
}"""

FOCUS = """() => {
  const style = getComputedStyle(document.activeElement);
  return document.activeElement === document.body ? "nowhere" : style.outlineStyle === "none" ? document.activeElement.outerHTML : "";
}"""


def look(page, path=None):
    """Takes a picture, and complains of what is not as it should be."""
    if path:
        page.screenshot(path=str(path), full_page=True)
    faults = page.evaluate(FAULTS)
    assert not faults, faults


def by_keyboard(page, steps):
    """Whether the place that the keyboard is at can be seen, wherever it goes."""
    for step in range(steps):
        page.keyboard.press("Tab")
        hidden = page.evaluate(FOCUS)
        if step > 0 and hidden == "nowhere":
            # Behind the last place.
            return
        assert not hidden, f"the keyboard's focus is not seen: {hidden}"


def feed(page, folder, scheme):
    """The change feed goes on by itself; the page's own client makes the changes."""
    database = "CloudKit.getDefaultContainer().privateCloudDatabase"
    zone = '{ zoneID: { zoneName: "Kitchen" } }'
    expect(page.locator("#state")).to_have_text("Live.")
    page.evaluate(f"""async () => {{ await {database}.newRecordsBatch({zone})
      .forceReplace({{ recordType: "Jar", recordName: "live-{scheme}", fields: {{ label: "Dill" }} }}).commit(); }}""")
    expect(page.get_by_role("link", name=f"live-{scheme}", exact=True)).to_be_visible()
    page.get_by_role("button", name="Pause").press("Enter")
    expect(page.locator("#state")).to_have_text("Paused.")
    page.evaluate(f"""async () => {{ await {database}.deleteRecords("live-{scheme}", {zone}); }}""")
    page.get_by_role("button", name="Pause").press("Enter")
    expect(page.locator(".gone", has_text=f"live-{scheme}")).to_be_visible()
    look(page, folder / f"changes-{scheme}.png")


def many_records(page, folder, scheme):
    """Imports records, sets a field of them and deletes them."""
    page.get_by_role("link", name="Import").click()
    rows = "\n".join(f"bulk-{number},Herb {number}" for number in range(3))
    page.get_by_label("File").set_input_files({"name": "p.csv", "mimeType": "text/csv", "buffer": f"recordName,name\n{rows}\n".encode()})
    expect(page.get_by_role("status").first).to_contain_text("p.csv was read")
    look(page, folder / f"import-{scheme}.png")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("status")).to_have_text("3 of 3 records imported.")
    page.get_by_role("link", name="To the records").click()
    page.get_by_label("Filter by").select_option("name")
    page.get_by_label("Comparator").select_option("BEGINS_WITH")
    page.get_by_label("Value", exact=True).fill("Herb")
    page.get_by_role("button", name="Query").click()
    expect(page.get_by_role("link", name="bulk-")).to_have_count(3)
    page.get_by_label("Select all records of this page").check()
    page.get_by_text("Selected records").click()
    page.get_by_label("Field", exact=True).select_option("count")
    page.get_by_label("New value").fill("9")
    page.get_by_role("button", name="Change selected").click()
    look(page, folder / f"bulk-{scheme}.png")
    page.get_by_role("button", name="Change 3 records").click()
    expect(page.get_by_role("status")).to_have_text("3 of 3 records changed.")
    page.get_by_role("link", name="To the records").click()
    page.get_by_label("Select all records of this page").check()
    page.get_by_text("Selected records").click()
    page.get_by_role("button", name="Delete selected").click()
    page.get_by_role("button", name="Delete 3 records").click()
    expect(page.get_by_role("status")).to_have_text("3 of 3 records deleted.")
    page.get_by_role("link", name="To the records").click()
    page.get_by_label("Filter by").select_option("")
    page.get_by_role("button", name="Query").click()
    expect(page.get_by_role("link", name="sage")).to_be_visible()


STORED = """async () => {
  const found = await CloudKit.getDefaultContainer().publicCloudDatabase.fetchRecords("sage");
  const { recordChangeTag, fields } = found.records[0];
  return { recordChangeTag, name: fields.name.value, note: fields.note.value, tags: fields.tags.value };
}"""


def keep_line_breaks(page):
    """What the browser does to line breaks changes no text that a person did not touch."""
    name = page.get_by_label("name STRING").input_value()
    note = "\n\nDear Ben,\r\nsee you.\r\n"
    page.evaluate(f"""async () => {{
      const database = CloudKit.getDefaultContainer().publicCloudDatabase;
      const {{ recordChangeTag }} = (await database.fetchRecords("sage")).records[0];
      const saved = await database.saveRecords({{ recordName: "sage", recordType: "Plant", recordChangeTag, fields: {{ note: {note!r} }} }});
      if (saved.hasErrors) throw saved.errors[0];
    }}""")
    page.reload()
    before = page.evaluate(STORED)
    assert before["note"] == note, before
    page.get_by_role("button", name="Save").click()
    page.wait_for_load_state()
    assert page.evaluate(STORED) == before, "a save without an edit wrote something"
    page.get_by_label("name STRING").fill(name + "!")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("name STRING")).to_have_value(name + "!")
    after = page.evaluate(STORED)
    assert (after["name"], after["note"], after["tags"]) == (name + "!", note, before["tags"]), after


def first_run(browser, link, folder):
    """The one-time link makes an operator, who makes mia one."""
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.goto(link.split("/console/")[0] + "/")
    expect(page.locator("main")).to_contain_text("one-time link")
    look(page, folder / "welcome-light.png")
    page.goto(link)
    # By keyboard alone: the first field has the focus.
    page.keyboard.type("olga")
    page.keyboard.press("Tab")
    page.keyboard.type("correct horse")
    expect(page.locator("#strength")).to_contain_text("Fair")
    page.keyboard.press("Tab")
    page.keyboard.type("correct hors")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.querySelector('form').checkValidity()") is False, "two passwords that differ are accepted"
    page.keyboard.type("e")
    look(page, folder / "firstrun-light.png")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Containers")
    page.get_by_role("link", name="Users").click()
    page.get_by_role("link", name="mia", exact=True).click()
    page.get_by_label("May use this console").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("The profile was saved.")
    page.get_by_label("New password").fill("correct horse")
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_role("status")).to_have_text("The password was set.")
    page.get_by_role("button", name="Sign out").click()
    page.goto(link)
    expect(page.get_by_role("alert").first).to_contain_text("does not work")
    page.close()


def history(page, folder, scheme):
    """The history of the record that the page shows, and the request of its first change in the log."""
    record = page.url
    page.get_by_role("link", name="History of this record").click()
    expect(page.locator("h1")).to_have_text("History of sage")
    expect(page.locator("#events tr").last).to_contain_text("created")
    expect(page.locator("#events tr").first).to_contain_text("saved")
    look(page, folder / f"history-{scheme}.png")
    if scheme == "light":
        request = page.locator("#events tr").last.get_by_role("link")
        name = request.inner_text()
        request.click()
        expect(page.get_by_label("Filter")).to_have_value(name)
        expect(page.locator("#state")).to_have_text("Live.")
        page.get_by_label("Filter").fill("")
        expect(page.locator("#rows tr:visible").first).to_be_visible()
        page.get_by_label("Filter").fill("nothing at all")
        expect(page.locator("#none")).to_be_visible()
        look(page, folder / "log-request-light.png")
    page.goto(record)


def keys(page, folder, scheme):
    """Pages, rows, fields and the list of keys by single keys, which a person can turn off."""
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page).to_have_url(re.compile("/records$"))
    page.go_back()
    expect(page.get_by_role("link", name="sage")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    focused = page.evaluate("() => document.activeElement.closest('tr') === document.querySelector('main tbody tr')")
    assert focused, "j and k do not go by rows"
    page.keyboard.press("/")
    page.keyboard.type("g?j")
    expect(page.get_by_label("Value", exact=True).first).to_have_value("g?j")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    look(page, folder / f"keys-{scheme}.png")
    page.get_by_label("Use these keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Keyboard shortcuts").press("Enter")
    page.get_by_label("Use these keys").check()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("link", name="sage").focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("sage")
    page.keyboard.press("e")
    assert page.evaluate("() => document.activeElement.name.startsWith('f.')"), "e does not go to the first field"
    page.go_back()


def reach(page, folder, scheme):
    """The commands of a page are copied as they are shown."""
    page.get_by_role("navigation").get_by_role("link", name="Reach").click()
    expect(page.locator("h1")).to_have_text("Reach")
    expect(page.locator("main tbody")).to_contain_text("Browsers, with CloudKit JS")
    look(page, folder / f"reach-{scheme}.png")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name="Copy").nth(1)
    code = page.locator("pre").nth(1).inner_text()
    button.press("Enter")
    expect(page.get_by_role("button", name="Copied")).to_have_count(1)
    assert page.evaluate("() => navigator.clipboard.readText()") == code, "another text was copied"
    by_keyboard(page, 20)


def consents(browser, server, container, folder, scheme):
    """A user permits reading, and the operator reads until the user ends it."""
    base = f"{server}/console/c/{container}/development"
    own = browser.new_page(viewport={"width": 1200, "height": 800}, color_scheme=scheme)
    own.goto(f"{server}/consents")
    look(own, folder / f"consentsignin-{scheme}.png")
    # By keyboard alone: the first field has the focus.
    own.keyboard.type("mia")
    own.keyboard.press("Tab")
    own.keyboard.type("correct horse")
    own.keyboard.press("Enter")
    expect(own.locator("main")).to_contain_text("Nobody may read your private data")
    own.get_by_label("App’s container").select_option(container)
    own.get_by_label("Environment").select_option("development")
    own.get_by_role("button", name="Give consent").click()
    text = own.locator("#consent").inner_text()
    look(own, folder / f"consents-{scheme}.png")

    page = browser.new_page(viewport={"width": 1200, "height": 800}, color_scheme=scheme)
    page.goto(server + "/")
    page.get_by_label("Name or email address").fill("mia")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_label("Password").press("Enter")
    expect(page.locator("h1")).to_have_text("Containers")
    page.goto(f"{base}/records")
    page.get_by_role("link", name="Read the private data of a person who permits it").click()
    look(page, folder / f"consent-{scheme}.png")
    page.get_by_label("Text of the consent").fill(text)
    page.get_by_role("button", name="Read their data").click()
    banner = page.locator(".consent")
    expect(banner).to_contain_text("You read the private and shared data of mia")
    page.goto(f"{base}/zones")
    expect(banner).to_be_visible()
    assert not page.get_by_role("button", name="Create zone in my private database").count(), "a zone can be created with a consent"
    look(page, folder / f"consent-zones-{scheme}.png")
    own.get_by_role("button", name="End the consent").click()
    expect(own.locator("main")).to_contain_text("Nobody may read your private data")
    page.reload()
    expect(banner).to_have_count(0)
    page.close()
    own.close()


def pages(server, container):
    """Each page of the console by name. `BrowserWalkTests` compare it with the console's routes."""
    base = f"{server}/console/c/{container}/development"
    return (
        ("containers", f"{server}/console"), ("types", f"{base}/types"), ("type", f"{base}/types/Plant"),
        ("typesproduction", f"{base}/types".replace("development", "production")),
        ("records", f"{base}/records?type=Plant"), ("recordsfilter", f"{base}/records?type=Plant&field=name&comparator=IN&value=a&count=1"),
        ("recordnew", f"{base}/records/public/_defaultZone/?type=Plant"),
        ("record", f"{base}/records/public/_defaultZone/sage"), ("history", f"{base}/records/public/_defaultZone/sage/history"),
        ("import", f"{base}/records/import?type=Plant"), ("consent", f"{base}/consent"),
        ("zones", f"{base}/zones"), ("changes", f"{base}/zones/public/_defaultZone"), ("shares", f"{base}/zones/private/Kitchen/shares"),
        ("zonerestore", f"{base}/zones/private/Kitchen/restore"), ("zonedelete", f"{base}/zones/private/Kitchen/delete"),
        ("subscriptions", f"{base}/subscriptions"), ("schema", f"{base}/schema"), ("roles", f"{base}/roles?account=mia"),
        ("tokens", f"{base}/tokens"), ("tokensproduction", f"{base}/tokens".replace("development", "production")), ("reach", f"{base}/reach"),
        ("users", f"{server}/console/users"), ("user", f"{server}/console/users/mia"), ("devices", f"{server}/console/devices"),
        ("log", f"{server}/console/log"), ("logkept", f"{server}/console/log/kept"), ("audit", f"{server}/console/audit"),
        ("status", f"{server}/console/status"), ("settings", f"{server}/console/settings"), ("backups", f"{server}/console/backups"),
        ("secondfactor", f"{server}/console/second-factor"), ("problem", f"{server}/console/nothing"),
        ("consents", f"{server}/consents"), ("share", f"{server}/share/nothing"),
    )


def visit_pages(browser, server, container, folder, complaints, width, scheme):
    """Opens each page at a width and in a colour scheme. Pictures are those of a phone in light mode: others are of the walk."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    has_pictures = width < 500 and scheme == "light"
    page.goto(server + "/")
    look(page)
    page.get_by_label("Name or email address").fill("mia")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_label("Password").press("Enter")
    expect(page.locator("h1")).to_have_text("Containers")
    for name, address in pages(server, container):
        page.goto(address)
        try:
            look(page, folder / f"{name}-narrow.png" if has_pictures else None)
        except AssertionError as error:
            raise AssertionError(f"{name}, {width} pixels, {scheme}: {error}") from error
        if has_pictures:
            by_keyboard(page, 4)
    page.close()


def backups(page, folder, scheme):
    """A backup is made and checked."""
    page.get_by_role("navigation").get_by_role("link", name="Backups").click()
    for button, result in (("Back up now", "Not checked."), ("Check 2", "Sound")):
        with page.expect_navigation():
            page.get_by_role("button", name=button).first.click()
        reload_until(page, result)
    page.get_by_text("Restore 2").first.click()
    expect(page.locator("main pre").first).to_contain_text("tarn restore --from")
    look(page, folder / f"backups-{scheme}.png")


def reload_until(page, text):
    """Loads a page again until it has a text, and its buttons work: the server works on after its response."""
    for _ in range(WAIT_MS // 250):
        if text in page.locator("main").inner_text() and page.locator("main button:disabled").count() == 0:
            return
        page.wait_for_timeout(250)
        page.reload()
    raise AssertionError(f"the page does not have the text {text}")


def walk(browser, server, container, folder, complaints):
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport={"width": 1200, "height": 800}, color_scheme=scheme)
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" and "Failed to load" not in message.text else None)
        page.goto(server + "/")
        page.screenshot(path=str(folder / f"signin-{scheme}.png"))
        # By keyboard alone.
        page.keyboard.type("mia")
        page.keyboard.press("Tab")
        page.keyboard.type("correct horse")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Containers")
        page.screenshot(path=str(folder / f"containers-{scheme}.png"))
        page.get_by_role("link", name="Development").first.click()
        expect(page.locator("h1")).to_have_text("Record types")
        page.screenshot(path=str(folder / f"types-{scheme}.png"))
        page.get_by_role("link", name="Plant", exact=True).click()
        for box in ("recordName queryable", "modifiedTimestamp queryable", "modifiedTimestamp sortable"):
            page.get_by_label(box, exact=True).check()
        page.get_by_role("button", name="Save").press("Enter")
        expect(page.get_by_label("modifiedTimestamp sortable", exact=True)).to_be_checked()
        page.screenshot(path=str(folder / f"type-{scheme}.png"))
        page.get_by_role("navigation").get_by_role("link", name="Records").click()
        page.get_by_label("Record type").select_option("Plant")
        page.get_by_label("Order by").select_option("-modifiedTimestamp")
        page.get_by_role("button", name="Query").click()
        expect(page.get_by_role("link", name="sage")).to_be_visible()
        look(page, folder / f"records-{scheme}.png")
        many_records(page, folder, scheme)
        keys(page, folder, scheme)
        page.get_by_role("link", name="sage").click()
        page.get_by_label("name STRING").fill(f"Sage by {scheme}")
        page.get_by_label("spot LOCATION").fill("48.137, 11.575" if scheme == "light" else "-1.5, 2.25")
        page.get_by_label("tags value 1", exact=True).fill(f"herb, {scheme}")
        page.get_by_label("tags value 2", exact=True).fill("two\nlines")
        for box in page.get_by_label("remove counts value").all():
            box.check()
        page.get_by_role("button", name="More rows for counts").click()
        fresh = page.locator("input[name$='.counts'][name^='v.']")
        stored = page.get_by_label("remove counts value").count()
        for index, number in enumerate("345"):
            fresh.nth(stored + index).fill(number)
        if page.get_by_label("photo ASSET").count():
            page.get_by_label("photo ASSET").set_input_files({"name": "sage.png", "mimeType": "image/png", "buffer": b"\x89PNG" + bytes(5000)})
            expect(page.get_by_role("status")).to_have_text("Sent; save the record to keep it.")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_label("name STRING")).to_have_value(f"Sage by {scheme}")
        expect(page.get_by_label("spot LOCATION")).to_have_value("48.137, 11.575" if scheme == "light" else "-1.5, 2.25")
        expect(page.get_by_label("tags value 1", exact=True)).to_have_value(f"herb, {scheme}")
        expect(page.get_by_label("tags value 2", exact=True)).to_have_value("two\nlines")
        assert [field.input_value() for field in fresh.all()] == ["3", "4", "5", ""], "the list is not what was entered"
        if page.get_by_label("photo ASSET").count():
            expect(page.get_by_role("link", name="file of 5004 bytes")).to_be_visible()
        look(page, folder / f"record-{scheme}.png")
        keep_line_breaks(page)
        history(page, folder, scheme)
        page.get_by_label("spot LOCATION").fill("91, 11")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("'91, 11' is not a valid LOCATION for 'spot'.")
        page.get_by_role("navigation").get_by_role("link", name="Schema").click()
        text = page.get_by_label("In the schema language")
        if "photo" not in text.input_value():
            text.fill(text.input_value().replace("DEFINE SCHEMA", "DEFINE SCHEMA\n    CREATE ROLE Moderators;")
                      .replace("RECORD TYPE Plant (", "RECORD TYPE Plant (\n        photo ASSET,"))
            page.get_by_role("button", name="Import into development").click()
            expect(page.get_by_label("In the schema language")).to_contain_text("CREATE ROLE Moderators")
        page.get_by_role("navigation").get_by_role("link", name="Roles").click()
        page.get_by_label("Account").select_option("mia")
        page.get_by_role("button", name="Show roles").click()
        page.get_by_label("Moderators").set_checked(scheme == "light")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status")).to_have_text("The roles of mia were saved.")
        assert page.get_by_label("Moderators").is_checked() == (scheme == "light"), "the role was not kept"
        page.screenshot(path=str(folder / f"roles-{scheme}.png"))
        for name, title in (("Zones", "Zones"), ("Schema", "Schema"), ("Tokens", "Tokens and keys"), ("Users", "Users")):
            page.get_by_role("navigation").get_by_role("link", name=name).click()
            expect(page.locator("h1")).to_have_text(title)
            page.screenshot(path=str(folder / f"{name.lower()}-{scheme}.png"), full_page=True)
            if name == "Schema":
                deploy = page.get_by_role("button", name="Deploy to production")
                if deploy.is_enabled():
                    deploy.click()
                    look(page, folder / f"deploy-{scheme}.png")
                    page.get_by_role("button", name="Deploy").click()
                    expect(page.get_by_role("status")).to_contain_text("deployed to production")
                    expect(page.locator("main")).to_contain_text("Production has what development has.")
            if name == "Tokens":
                back = page.url
                reach(page, folder, scheme)
        page.get_by_role("navigation").get_by_role("link", name="Log").click()
        expect(page.locator("#state")).to_have_text("Live.")
        page.wait_for_selector("#rows tr")
        page.screenshot(path=str(folder / f"log-{scheme}.png"))
        if scheme == "light":
            backups(page, folder, scheme)
        page.goto(back.replace("/tokens", "/zones/private/Kitchen"))
        feed(page, folder, scheme)
        by_keyboard(page, 12)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Password")).to_be_visible()
        page.close()
        consents(browser, server, container, folder, scheme)


def main():
    server, token, container, folder = sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[-1])
    link = sys.argv[4] if len(sys.argv) > 5 else None
    folder.mkdir(parents=True, exist_ok=True)
    complaints = []
    expect.set_options(timeout=WAIT_MS)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])
            if link:
                first_run(browser, link, folder)
            use_script(browser, server, token, container, complaints)
            walk(browser, server, container, folder, complaints)
            for width, scheme in ((390, "light"), (390, "dark"), (1200, "dark")):
                visit_pages(browser, server, container, folder, complaints, width, scheme)
            browser.close()
    except (AssertionError, Error) as error:
        complaints.append(str(error).strip() or "an expectation failed")
    if complaints:
        print("console: " + complaints[0])
        return 1
    print("console: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
