// SPDX-License-Identifier: Apache-2.0
// The programs of the guide on web pages, with the console's own script.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Page } from "./page.mjs";

const guide = readFileSync(new URL("../../Documentation/Tarn.docc/ReadingRecordsFromTheWeb.md", import.meta.url), "utf8");
const block = language => guide.match(new RegExp("```" + language + "\\n([\\s\\S]*?)```"))[1];
const html = block("html");
const script = html.match(/<script>\n([\s\S]*?)<\/script>/)[1];
const ids = [...html.matchAll(/id="([^"]+)"/g)].map(match => match[1]);
const settled = () => new Promise(resolve => setImmediate(resolve));

const open = answers => {
  const page = new Page({ ids: [...ids, "apple-sign-in-button", "apple-sign-out-button"], answers }).run("cloudkit.js");
  page.context.CloudKit = page.window.CloudKit;
  page.evaluate(script);
  return page;
};
const recipe = title => ({ recordName: title, fields: { CD_title: { value: title } } });

test("the guide's page lists records and their next page", async () => {
  const page = open([{ records: [recipe("Borscht")], continuationMarker: "more" }, { records: [recipe("Tomato soup")] }]);
  await settled();
  const list = page.elements.get("recipes"), more = page.elements.get("more");
  assert.deepEqual(list.texts, ["Borscht"]);
  assert.equal(more.hidden, false);
  assert.equal(page.requests[0].path, "/database/1/iCloud.org.example.recipes/production/public/records/query");
  assert.deepEqual(JSON.parse(JSON.stringify(page.requests[0].body.desiredKeys)), ["CD_title"]);
  await more.fire("click");
  assert.deepEqual(list.texts, ["Borscht", "Tomato soup"]);
  assert.equal(page.requests[1].body.continuationMarker, "more");
  assert.equal(more.hidden, true);
});

test("the guide's page shows an error", async () => {
  const page = open([{ status: 400, serverErrorCode: "BAD_REQUEST", reason: "CD_title is not marked SORTABLE" }]);
  await settled();
  assert.deepEqual(page.elements.get("message").texts, ["CD_title is not marked SORTABLE"]);
});

test("the guide's function adds a record of the signed-in user", async () => {
  const page = open([{ records: [] }, { users: [{ userRecordName: "_mia" }] }, { records: [recipe("Stew")] }]);
  await settled();
  page.evaluate(block("js"));
  const record = await page.evaluate("addRecipe(\"Stew\")");
  assert.equal(record.recordName, "Stew");
  assert.equal(page.requests[2].body.operations[0].record.fields.CD_entityName.value, "Recipe");
});

test("without a user the guide's function throws", async () => {
  const page = open([{ records: [] }, { status: 421, serverErrorCode: "AUTHENTICATION_REQUIRED", redirectURL: "https://cloud.example/signin" }]);
  await settled();
  page.evaluate(block("js"));
  await assert.rejects(page.evaluate("addRecipe(\"Stew\")"), /Sign in/);
});
