// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

const lint = files => {
  const folder = mkdtempSync(join(tmpdir(), "tarn-web-"));
  try {
    mkdirSync(join(folder, "templates"));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const linter = new URL("../../.ci/lint-web.mjs", import.meta.url).pathname;
    const run = spawnSync(process.execPath, [linter, folder], { encoding: "utf8" });
    return { code: run.status, text: run.stderr.replaceAll(folder + "/", "") };
  } finally {
    rmSync(folder, { recursive: true });
  }
};
const script = body => ({ "a.js": `"use strict";\n${body}\n` });
const template = body => ({ "templates/t.mustache": `${body}\n` });

test("the console's files have no findings", () => {
  const run = spawnSync(process.execPath, [new URL("../../.ci/lint-web.mjs", import.meta.url).pathname], { encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr);
});

test("the documentation's files have no findings", () => {
  const folder = new URL("../../Documentation/Site/Web", import.meta.url).pathname;
  const run = spawnSync(process.execPath, [new URL("../../.ci/lint-web.mjs", import.meta.url).pathname, folder], { encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr);
});

for (const [what, files, message] of [
  ["a syntax error", script("const a = ;"), /a\.js:1: error: isn't JavaScript/],
  ["a script that isn't strict", { "a.js": "start();\n" }, /use strict/],
  ["var", script("var a = 1; start(a);"), /a\.js:2: error: 'var'/],
  ["comparison with conversion", script("start(1 == 2);"), /a\.js:2: error: compares/],
  ["eval", script("eval(\"1\");"), /calls eval/],
  ["markup from text", script("document.body.innerHTML = name;"), /innerHTML/],
  ["an unused name", script("const unused = 1;"), /'unused' is never used/],
  ["an element that no template has", script("start(document.getElementById(\"missing\"));"), /no template has an element 'missing'/],
  ["a tab", script("\tstart();"), /a tab/],
  ["an undefined style variable", { "a.css": "a { color: var(--ink); }\n" }, /'--ink' is not defined/],
  ["an open brace", { "a.css": "a { color: red;\n" }, /1 opening and 0 closing/],
  ["an open section", template("{{#rows}}x"), /'rows' is not closed/],
  ["a section closed by another name", template("{{#rows}}x{{/row}}"), /'row' closes a section/],
  ["an unescaped value", template("<p>{{{name}}}</p>"), /'name' is not escaped/],
  ["an unknown partial", template("{{> nothing}}"), /no template 'nothing'/],
  ["an inline handler", template("<button onclick=\"go()\">x</button>"), /inline script/],
  ["an inline script", template("<script>go()</script>"), /inline script/],
  ["a label of nothing", template("<label for=\"x\">X</label>"), /a label of 'x'/]
]) {
  test(`the linter finds ${what}`, () => {
    const { code, text } = lint(files);
    assert.equal(code, 1);
    assert.match(text, message);
  });
}

test("the linter accepts a clean script, style and template", () => {
  const { code, text } = lint({
    ...script("// var x == 1\nconst place = document.getElementById(\"x\");\nplace.textContent = \"var a == 1\";"),
    "a.css": ":root { --ink: red; } a { color: var(--ink); }\n", ...template("{{#rows}}<label for=\"x\">{{name}}</label><input id=\"x\">{{/rows}}")
  });
  assert.equal(code, 0, text);
});
