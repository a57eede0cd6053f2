#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors
//
// usage: lint-web [FOLDER]
//
// Lints scripts, style sheets and templates in a folder; by default those of the console and of the demo's page: syntax,
// forbidden constructs, names that nothing uses, and elements,
// style variables and templates that don't exist. Needs Node.js 18 and nothing else.
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const owners = ["CloudConsole", "TarnCommands"];
if (process.argv.length < 3) {
  // The scripts of a folder share their names, so each folder is a run of its own.
  const codes = owners.map(owner => {
    const web = new URL("../Sources/" + owner + "/Web", import.meta.url).pathname;
    return spawnSync(process.execPath, [new URL(import.meta.url).pathname, web], { stdio: "inherit" }).status;
  });
  process.exit(Math.max(...codes.map(code => code ?? 1)));
}
const folder = process.argv[2];
const files = readdirSync(folder, { recursive: true }).map(String).filter(name => /\.(js|css|html|mustache|svg)$/.test(name)).sort();
const problems = [];
const report = (name, line, text) => problems.push(`${join(folder, name)}:${line}: error: ${text}`);
const textOf = name => readFileSync(join(folder, name), "utf8");
const lineAt = (text, index) => text.slice(0, index).split("\n").length;
const each = (name, text, pattern, message) => {
  for (const match of text.matchAll(pattern)) report(name, lineAt(text, match.index), typeof message === "string" ? message : message(match));
};

const columnsMax = 200;
const templates = new Set(files.filter(name => name.endsWith(".mustache")).map(name => name.replace(/^templates\//, "").replace(/\.mustache$/, "")));
const markup = files.filter(name => /\.(html|mustache)$/.test(name)).map(textOf).join("\n");

for (const name of files) {
  const text = textOf(name);
  if (name.endsWith(".svg")) continue;
  if (!text.endsWith("\n")) report(name, lineAt(text, text.length), "the last line has no end");
  each(name, text, /\t/g, "a tab; use spaces");
  each(name, text, /[ \t]+$/gm, "spaces at the end of a line");
  if (name.endsWith(".js")) lintScript(name, text);
  if (name.endsWith(".css")) lintStyle(name, text);
  if (/\.(html|mustache)$/.test(name)) lintTemplate(name, text);
}

function lintScript(name, text) {
  try {
    execFileSync(process.execPath, ["--check", join(folder, name)], { stdio: ["ignore", "ignore", "pipe"] });
  } catch (error) {
    return report(name, 1, "isn't JavaScript: " + String(error.stderr).trim().split("\n").slice(0, 5).join(" "));
  }
  text.split("\n").forEach((line, index) => {
    if (line.length > columnsMax) report(name, index + 1, `${line.length} columns; at most ${columnsMax}`);
  });
  // Comments and the contents of literals say nothing about the code; code inside of template literals does.
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"/g, match => match.startsWith("\"") ? "\"\"" : match.replace(/[^\n]/g, " "));
  if (!/^\s*(?:\(\(\) => \{\s*)?""/.test(code) || !/^\s*(?:\/\/[^\n]*\n)*\s*(?:\(\(\) => \{\s*)?"use strict";/.test(text)) {
    report(name, 1, "doesn't begin with \"use strict\"");
  }
  each(name, code, /\bvar\s/g, "'var'; use const or let");
  each(name, code, /[^=!]==[^=]|!=[^=]/g, "compares with conversion; use === or !==");
  each(name, code, /\b(?:eval|alert|confirm|prompt|Function)\s*\(/g, match => `calls ${match[0].trim()}`);
  each(name, code, /\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write)\b/g, match => `'${match[0]}' lets text become elements; use textContent`);
  each(name, code, /\bdebugger\b|\bconsole\.(?:log|debug)\b/g, "left over from debugging");
  for (const match of code.matchAll(/\b(?:const|let|class|function)\s+([A-Za-z_$][\w$]*)/g)) {
    const uses = text.match(new RegExp(`(?<![\\w$])${match[1].replace("$", "\\$")}(?![\\w$])`, "g")).length;
    // The scripts of a page share their constants.
    const others = files.some(other => other !== name && other.endsWith(".js") && new RegExp(`\\b${match[1]}\\b`).test(textOf(other)));
    if (uses < 2 && !others) report(name, lineAt(code, match.index), `'${match[1]}' is never used`);
  }
  if (name === "cloudkit.js") return;  // Its elements are those of an app's page.
  for (const match of text.matchAll(/getElementById\("([^"]+)"\)/g)) {
    if (!markup.includes(`id="${match[1]}"`)) report(name, lineAt(text, match.index), `no template has an element '${match[1]}'`);
  }
}

function lintStyle(name, text) {
  const open = text.split("{").length, close = text.split("}").length;
  if (open !== close) report(name, 1, `${open - 1} opening and ${close - 1} closing braces`);
  const defined = new Set([...text.matchAll(/(--[\w-]+)\s*:/g)].map(match => match[1]));
  for (const match of text.matchAll(/var\((--[\w-]+)/g)) {
    if (!defined.has(match[1])) report(name, lineAt(text, match.index), `'${match[1]}' is not defined`);
  }
  each(name, text, /!important/g, "'!important'; make the selector more specific");
  each(name, text, /url\(|@import/g, "loads something: pages load from this server alone");
}

function lintTemplate(name, text) {
  const open = [];
  for (const match of text.matchAll(/\{\{\{?\s*([#^/>]?)\s*([\w.\-]+)\s*\}?\}\}/g)) {
    const [whole, kind, tag] = match, line = lineAt(text, match.index);
    if (kind === "#" || kind === "^") open.push(tag);
    if (kind === "/" && open.pop() !== tag) report(name, line, `'${tag}' closes a section that isn't open`);
    if (kind === ">" && !templates.has(tag)) report(name, line, `there is no template '${tag}'`);
    if (whole.startsWith("{{{") && !(name === "templates/frame.mustache" && tag === "body")) report(name, line, `'${tag}' is not escaped`);
  }
  if (open.length) report(name, lineAt(text, text.length), `the section '${open.pop()}' is not closed`);
  each(name, text, /<script(?! src=)[^>]*>|<style|\sstyle=|\son\w+=/g, "inline script or style, which the pages' content security policy blocks");
  each(name, text, /(?:src|href)="https?:/g, "loads from another server");
  each(name, text, /<th(?![^>]*scope=)[\s>]/g, "a header cell without a scope");
  each(name, text, /<img(?![^>]*alt=)/g, "an image without a text");
  each(name, text, /target="_blank"(?![^>]*rel=)/g, "a new window without rel=\"noopener\"");
  for (const match of text.matchAll(/<label for="([^"]+)"/g)) {
    if (!text.includes(`id="${match[1]}"`)) report(name, lineAt(text, match.index), `a label of '${match[1]}', which isn't in the template`);
  }
}

if (problems.length) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log(`${files.length} web files, no findings`);
