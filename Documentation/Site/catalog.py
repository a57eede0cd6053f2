# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""Collects the documents of the repository in one DocC catalog.

Guides are in Documentation/Tarn.docc; pages of the repository are copied next to them. Links between Markdown files become
addresses below LINK_BASE, which the renderer resolves: DocC would look for them in its catalog only.
"""
import os
import re
import shutil

LINK_BASE = "https://tarn.invalid/"

# Documents at the root that are pages of the site; those in Documentation all are.
DOCUMENTS = {"CHANGELOG.md": "Changelog", "CONTRIBUTING.md": "Contributing", "SECURITY.md": "Security"}
SYNC = "Documentation/Sync.md"
# Made from the ledger: see ledger.py.
PARITY = "Documentation/Parity.md"
# Files that links may name and that are copied as they are.
FILES = ["Documentation/openapi.json", "LICENSE"]

FENCE = re.compile(r"^(```.*?^```\s*?$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^()\s]+)\)")


class DeadLink(Exception):
    """A link to a file that isn't a page or a file of the site."""


def slug(heading):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-")


def outside_code(text, change):
    return "".join(part if part.startswith("```") else change(part) for part in FENCE.split(text))


def without_links_in_abstract(text):
    """DocC loses the texts of links in an abstract: a first paragraph with a link begins the overview instead."""
    match = re.match(r"(# [^\n]*\n+)([^#\n](?:.|\n(?!\n))*)", text)
    if match and LINK_BASE in match[2]:
        return f"{match[1]}## Overview\n\n{text[match.end(1):]}"
    return text


class Catalog:
    """The catalog, and the page of each document."""

    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        # The name of the DocC page of each document, and of each heading that is a page of its own.
        self.names = {}
        self.problems = {}

    def write(self, generated):
        """Writes the catalog; `generated` has the text of further pages by name."""
        shutil.copytree(os.path.join(self.root, "Documentation/Tarn.docc"), self.folder)
        guides = sorted(name for name in os.listdir(self.folder) if name.endswith(".md"))
        for name in guides:
            self.names["Documentation/Tarn.docc/" + name] = name[:-3]
        self.names.update(DOCUMENTS)
        for name in sorted(os.listdir(os.path.join(self.root, "Documentation"))):
            if name.endswith(".md"):
                self.names["Documentation/" + name] = name[:-3]
        self.names[SYNC] = "Guarantees"
        self.names[PARITY] = "Parity"
        decisions = sorted(os.listdir(os.path.join(self.root, "Documentation/Decisions")))
        for name in decisions:
            self.names["Documentation/Decisions/" + name] = "Decision-" + name[:4]
        pages = self.split_sync()
        for path in self.names:
            if path not in (SYNC, PARITY):
                pages[self.names[path]] = (path, self.read(path))
        pages["Decisions"] = ("Documentation/Decisions/", self.list_of_decisions(decisions))
        for name, text in generated.items():
            pages[name] = (PARITY, text)
        for name, (path, text) in pages.items():
            with open(os.path.join(self.folder, name + ".md"), "w", encoding="utf-8") as file:
                file.write(without_links_in_abstract(
                    outside_code(text, lambda part, path=path: LINK.sub(lambda match: self.link(path, match), part))))
        drawings = os.path.join(self.root, "Documentation/Drawings")
        for name in sorted(os.listdir(drawings)):
            if name.endswith((".svg", ".png")):
                shutil.copy(os.path.join(drawings, name), self.folder)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def split_sync(self):
        """One page for each problem of Sync.md, and a page that lists them."""
        introduction, *sections = re.split(r"(?m)^## ", self.read(SYNC))
        pages, rows = {}, []
        for section in sections:
            title, text = section.split("\n", 1)
            name = "Problem-" + slug(title)
            self.problems[slug(title)] = name
            pages[name] = (SYNC, f"# {title}\n{text}")
            rows.append(f"- <doc:{name}>")
        pages["Guarantees"] = (SYNC, introduction.rstrip() + "\n\n## Topics\n\n### Problems\n\n" + "\n".join(rows) + "\n")
        return pages

    def list_of_decisions(self, names):
        rows = [f"- <doc:Decision-{name[:4]}>" for name in names]
        return "# Decisions\n\nWhy the parts of Tarn are as they are, one record each.\n\n## Topics\n\n### Records\n\n" + "\n".join(rows) + "\n"

    def link(self, path, match):
        """A link or an image as DocC reads it."""
        image, title, target = match.groups()
        if re.match(r"[a-z]+:", target):
            return match[0]
        file, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if image:
            if not os.path.exists(os.path.join(self.root, file)):
                raise DeadLink(f"{path}: there is no picture {target}")
            return f"![{title}]({os.path.basename(file)})"
        if file == "Documentation/Decisions":
            return f"[{title}]({LINK_BASE}page/Decisions)"
        if file == SYNC and anchor in self.problems:
            return f"[{title}]({LINK_BASE}page/{self.problems[anchor]})"
        if file in self.names:
            return f"[{title}]({LINK_BASE}page/{self.names[file]}{'#' + anchor if anchor else ''})"
        if file in FILES:
            return f"[{title}]({LINK_BASE}file/{os.path.basename(file)})"
        raise DeadLink(f"{path}: {target} isn't a page of the site")
