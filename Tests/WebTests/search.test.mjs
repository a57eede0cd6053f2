// SPDX-License-Identifier: Apache-2.0
// The search of the documentation, without a browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import vm from "node:vm";

const context = vm.createContext({});
vm.runInContext(readFileSync(new URL("../../Documentation/Site/Web/search.js", import.meta.url), "utf8"), context);
const { wordsOf, prepareIndex, searchEntries, excerptOf } = context;
const plain = value => JSON.parse(JSON.stringify(value));

const index = prepareIndex([
  ["Syncing an app", "guides/syncinganapp.html", "Guide", "", "Watch sync, wait for it, and handle conflicts."],
  ["Waiting for sync", "guides/syncinganapp.html#waiting", "Guide", "Syncing an app", "sync(timeout:) returns when import and export are idle."],
  ["NSPersistentCloudKitContainer", "reference/coredata/c.html", "Class", "CoreData", "A container that syncs its stores with a server."],
  ["sync(timeout:)", "reference/coredata/c.html#sync(timeout:)", "Instance Method", "NSPersistentCloudKitContainer", "Syncs all stores now."],
  ["save()", "reference/coredata/x.html#save()", "Instance Method", "NSManagedObjectContext", "Writes the changes to the stores."],
  ["Sync", "guides/changelog.html#sync", "Change", "Changelog", "Added: a time-out. Versions."],
  ["Push is a hint", "decisions/0021.html", "Decision", "", "A conflict of two designs: push, or poll."],
  ["Conflicts", "guides/syncinganapp.html#conflicts", "Guide", "Syncing an app", "Objects are merged."],
  ["Conflicts", "guides/conflicts.html", "Guide", "", "Which value wins, and how to bring the other one back."]
]);
const titles = query => plain(searchEntries(index, query).map(entry => entry.title));

test("names are split at signs of case", () => {
  assert.deepEqual(plain(wordsOf("NSPersistentCloudKitContainer")), ["nspersistentcloudkitcontainer", "ns", "persistent", "cloud", "kit", "container"]);
  assert.deepEqual(plain(wordsOf("sync(timeout:)")), ["sync", "timeout"]);
  assert.deepEqual(plain(wordsOf("")), []);
});

test("a symbol is found by its name, a part of it, and in any case", () => {
  assert.equal(titles("NSPersistentCloudKitContainer")[0], "NSPersistentCloudKitContainer");
  assert.equal(titles("nspersistentcloud")[0], "NSPersistentCloudKitContainer");
  assert.equal(titles("cloud container")[0], "NSPersistentCloudKitContainer");
});

test("a symbol with all words comes before a text with them", () => {
  assert.equal(titles("sync timeout")[0], "sync(timeout:)");
  assert.equal(titles("sync(timeout:)")[0], "sync(timeout:)");
});

test("a member is found by its type", () => {
  assert.equal(titles("context save")[0], "save()");
  assert.equal(titles("NSManagedObjectContext save")[0], "save()");
});

test("a guide comes before a decision", () => {
  assert.deepEqual(titles("conflict").slice(0, 1), ["Conflicts"]);
  assert.equal(titles("conflict").at(-1), "Push is a hint");
});

test("a page comes before a section of its name", () => {
  assert.equal(searchEntries(index, "conflicts")[0].address, "guides/conflicts.html");
});

test("a single word leads to a guide before members of that name", () => {
  assert.equal(titles("sync")[0], "Syncing an app");
  assert.ok(titles("sync").indexOf("Waiting for sync") < titles("sync").indexOf("sync(timeout:)"));
  assert.equal(titles("sync(")[0], "sync(timeout:)");
});

test("words of a question are left out, unless there are no others", () => {
  assert.equal(titles("how do I save with a context")[0], "save()");
  assert.deepEqual(titles("to").length > 0, true);
});

test("all words have to be there, and words of a text count from their beginning", () => {
  assert.deepEqual(titles("conflict giraffe"), []);
  assert.deepEqual(titles("ersions"), []);
  assert.deepEqual(titles("versions"), ["Sync"]);
  assert.deepEqual(titles("  "), []);
});

test("results are limited", () => {
  assert.equal(searchEntries(index, "sync", 2).length, 2);
});

test("an excerpt shows the word that was searched", () => {
  const [entry] = prepareIndex([["A", "a.html", "Guide", "", "lorem ".repeat(60) + "giraffe " + "ipsum ".repeat(60)]]);
  const text = excerptOf(entry, "giraffe");
  assert.match(text, /giraffe/);
  assert.match(text, /^… .* …$/);
  assert.equal(excerptOf(prepareIndex([["A", "a.html", "Guide", "", "short"]])[0], "short"), "short");
});
