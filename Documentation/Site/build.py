#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""build.py catalog FOLDER: writes the DocC catalog of all documents to FOLDER.
build.py pages ARCHIVE OUTPUT: writes the site to OUTPUT, from DocC's archive.

The site has no server and loads nothing from other hosts: every address is relative, so that it works in any folder. A dead
link is an error.
"""
import json
import os
import shutil
import sys
from html import escape

import ledger
from catalog import PARITY, Catalog, DeadLink, slug
from content import Renderer, plain
from contents import GUIDES, LISTS, Contents
from links import dead_links
from reference import Reference, Symbol

SITE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(SITE))


class Site:
    """All pages, and the addresses of everything that a page may link to."""

    def __init__(self, archive, output):
        self.archive, self.output = archive, output
        self.articles, symbols, groups = {}, [], {}
        for folder, _, names in sorted(os.walk(os.path.join(archive, "data/documentation"))):
            for name in sorted(names):
                if not name.endswith(".json"):
                    continue
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    node = json.load(file)
                if node["kind"] == "symbol":
                    symbols.append(Symbol(node))
                elif (node["identifier"]["url"] + "/").startswith(GUIDES + "/"):
                    self.articles[node["identifier"]["url"]] = node
                else:
                    groups[node["identifier"]["url"]] = node
        self.reference = Reference(self, symbols, groups)
        self.names = self.names_of_symbols()
        self.anchors, self.expected, self.problems = {}, [], []
        self.entries = []
        self.contents = Contents(self)
        self.problems += self.contents.unlisted

    # Addresses

    @staticmethod
    def relative(page, address):
        """The address of a page as seen from another one."""
        path, hash_sign, anchor = address.partition("#")
        return os.path.relpath(path, os.path.dirname(page) or ".").replace(os.sep, "/") + hash_sign + anchor

    def address(self, identifier):
        identifier, _, anchor = identifier.partition("#")
        if identifier in self.articles:
            name = identifier.rsplit("/", 1)[-1]
            address = "index.html" if identifier == GUIDES else self.file(name)
            return address + ("#" + slug(anchor.replace("-", " ")) if anchor else "")
        return self.reference.address(identifier)

    @staticmethod
    def file(name):
        for prefix, folder in (("Problem-", "problems"), ("Decision-", "decisions")):
            if name.startswith(prefix):
                return f"{folder}/{name[len(prefix):].lower()}.html"
        return f"guides/{name.lower()}.html"

    def page_named(self, name, page):
        if f"{GUIDES}/{name}" not in self.articles:
            self.problems.append(f"{page}: there is no page {name}")
        return self.file(name)

    def expect_anchor(self, page, address, anchor):
        self.expected.append((page, address, anchor))

    def names_of_symbols(self):
        """Addresses of types, and of members whose name has labels and is unique."""
        found = {}
        for symbol in self.reference.symbols.values():
            address = self.reference.address(symbol.identifier)
            for name in {symbol.declared_name, symbol.title if symbol.has_page or ":" in symbol.title else symbol.declared_name}:
                found.setdefault(name, set()).add(address)
        return {name: min(addresses) for name, addresses in found.items() if len(addresses) == 1 and None not in addresses}

    def address_of_symbol(self, text):
        return self.names.get(text)

    # Pages

    def write(self):
        with open(os.path.join(SITE, "Web/templates/frame.mustache"), encoding="utf-8") as file:
            self.frame = file.read()
        for index, identifier in enumerate(self.contents.order):
            self.write_article(index, identifier)
        for symbol in self.reference.symbols.values():
            if symbol.has_page:
                title, body, headings = self.reference.page(symbol)
                module = symbol.identifier.split("/documentation/")[0] + "/documentation/" + symbol.path[0]
                self.anchors[symbol.file] = {anchor for _, _, anchor in headings}
                self.write_page(symbol.file, title, body, headings, [module] if len(symbol.path) > 1 else [], plain(symbol.abstract))
        self.entries += list(self.reference.entries())
        for page, address, anchor in self.expected:
            if anchor not in self.anchors.get(address, ()):
                self.problems.append(f"{page}: {address} has no heading {anchor}")
        if self.problems:
            raise DeadLink("\n".join(self.problems))
        self.write_files()
        dead = dead_links(self.output)
        if dead:
            raise DeadLink("\n".join(dead))

    def write_article(self, index, identifier):
        node, file = self.articles[identifier], self.address(identifier)
        renderer = Renderer(self, file, node["references"])
        title = node["metadata"]["title"]
        abstract = renderer.inline(node.get("abstract"))
        blocks = [block for section in node.get("primaryContentSections", []) for block in section.get("content", [])]
        if blocks and blocks[0].get("type") == "heading" and blocks[0]["text"] == "Overview":
            blocks = blocks[1:]
        trail = [parent for parent in LISTS if identifier in self.contents.children(parent)]
        above = "".join(
            f'<p class="eyebrow"><a href="{self.relative(file, self.address(parent))}">{escape(self.articles[parent]["metadata"]["title"])}</a></p>'
            for parent in trail)
        parts = [above + f"<h1>{escape(title, quote=False)}</h1>", f'<p class="abstract">{abstract}</p>' if abstract else "", renderer.blocks(blocks)]
        if node.get("seeAlsoSections") and any(not section.get("generated") for section in node["seeAlsoSections"]):
            self.problems.append(f"{title}: write 'See also' as paragraphs")
        children = "".join(
            f'<dt><a href="{self.relative(file, self.address(child))}">{escape(self.articles[child]["metadata"]["title"])}</a></dt>'
            f'<dd>{Renderer(self, file, self.articles[child]["references"]).inline(self.articles[child].get("abstract"))}</dd>' for child in self.contents.children(identifier))
        if children:
            parts.append(f'<dl class="symbols">{children}</dl>')
        if identifier == GUIDES + "/Parity":
            figures, table = self.ledger(file, renderer)
            ledger_heading = '<h2 id="the-ledger"'
            parts = ["\n".join(parts).replace(ledger_heading, figures + ledger_heading, 1), table]
        self.anchors[file] = {anchor for _, _, anchor in renderer.headings}
        body = "\n".join(parts) + self.contents.neighbours(index, file)
        self.write_page(file, title, body, renderer.headings, trail, plain(node.get("abstract", [])), is_start=identifier == GUIDES)
        self.index_article(title, file, node, blocks)

    def ledger(self, file, renderer):
        with open(os.path.join(ROOT, PARITY), encoding="utf-8") as source:
            found, _ = ledger.rows(source.read())

        def address(target):
            path, _, anchor = target.partition("#")
            name = os.path.basename(path)[:-3]
            if name == "Sync":
                name, anchor = (f"Problem-{anchor}", "") if anchor else ("Guarantees", "")
            return self.relative(file, self.page_named(name, file)) + ("#" + anchor if anchor else "")

        for name, _, _ in ledger.shares(found)[:-1]:
            renderer.headings.append((2, name, slug(name)))
            self.entries.append([name, f"{file}#{slug(name)}", "Parity", "Parity", " ".join(row.symbol.replace("`", "") for row in found if row.section == name)])
        return ledger.figures(found), ledger.table(found, address, renderer.code_voice)

    def index_article(self, title, file, node, blocks):
        """An entry for the page and one for each of its sections."""
        sections = [(title, file, [node.get("abstract", [])])]
        seen = {}
        for block in blocks:
            if block["type"] == "heading":
                anchor = slug(block["text"])
                seen[anchor] = seen.get(anchor, -1) + 1
                sections.append((block["text"], f"{file}#{anchor}{'-' + str(seen[anchor]) if seen[anchor] else ''}", []))
            else:
                sections[-1][2].append(block)
        for name, address, content in sections:
            kind = "Change" if file == self.file("Changelog") else "Problem" if file.startswith("problems/") else "Decision" if file.startswith("decisions/") else "Guide"
            self.entries.append([name, address, kind, "" if name == title else title, plain(content)])

    def write_page(self, file, title, body, headings, trail, description, is_start=False):
        outline = "".join(
            f'<li class="level-{level}"><a href="#{escape(anchor)}">{escape(text, quote=False)}</a></li>' for level, text, anchor in headings if level <= 3)
        aside = f'<nav class="outline" aria-label="On this page"><p>On this page</p><ul>{outline}</ul></nav>' if len(headings) > 1 else ""
        inside = (f'<nav id="contents" aria-label="Contents">{self.contents.sidebar(file, trail)}</nav>'
                  f'<main id="content"><article{" class=start" if is_start else ""}>{body}</article></main>{aside}')
        values = {"title": title if is_start else f"{title} · Tarn", "description": description[:160], "root": os.path.relpath(".", os.path.dirname(file) or ".") + "/"}
        text = self.frame
        for key, value in values.items():
            text = text.replace("{{" + key + "}}", escape(value))
        text = text.replace("{{{body}}}", inside)
        path = os.path.join(self.output, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as target:
            target.write(text)

    def write_files(self):
        """Styles, scripts, the search index, and files that pages link to."""
        assets = os.path.join(self.output, "assets")
        os.makedirs(assets, exist_ok=True)
        for name in ("site.css", "site.js", "search.js"):
            shutil.copy(os.path.join(SITE, "Web", name), assets)
        with open(os.path.join(assets, "search-index.js"), "w", encoding="utf-8") as file:
            rows = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in self.entries)
            file.write(f"\"use strict\";\nwindow.tarnSearchIndex = [\n{rows}\n];\n")
        shutil.copytree(os.path.join(self.archive, "images/tarn"), os.path.join(self.output, "images"))
        os.makedirs(os.path.join(self.output, "files"), exist_ok=True)
        for path in ("Documentation/openapi.json", "LICENSE"):
            shutil.copy(os.path.join(ROOT, path), os.path.join(self.output, "files"))


def main(arguments):
    try:
        if len(arguments) == 2 and arguments[0] == "catalog":
            catalog = Catalog(ROOT, arguments[1])
            catalog.write({"Parity": ledger.stub(catalog.read(PARITY))})
            return 0
        if len(arguments) == 3 and arguments[0] == "pages":
            site = Site(arguments[1], arguments[2])
            site.write()
            print(f"{len(site.contents.order)} guides, {sum(symbol.has_page for symbol in site.reference.symbols.values())} pages of symbols, "
                  f"{len(site.entries)} entries of the search")
            return 0
    except (DeadLink, ValueError) as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    print(__doc__.strip(), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
