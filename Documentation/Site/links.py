# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""Finds links of a folder of pages that lead nowhere: to files or elements that don't exist, or to a script of another host."""
import os
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The identifiers and the addresses of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.ids.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        for name in ("src", "href"):
            if tag in ("script", "img", "link") and name in values:
                self.loads.append(values[name])


def dead_links(folder):
    """A line for each dead link."""
    pages = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(directory, name)
                with open(path, encoding="utf-8") as file:
                    pages[os.path.normpath(path)] = Page(file.read())
    problems = []
    for path, page in sorted(pages.items()):
        for address in [*page.links, *page.loads]:
            parts = urlsplit(address)
            if parts.scheme in ("data", "mailto") or parts.scheme.startswith("http") and address not in page.loads:
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path))) if parts.path else path
            if parts.scheme or parts.netloc:
                problems.append(f"{path}: loads {address} from another host")
            elif not os.path.isfile(target):
                problems.append(f"{path}: there is no file {address}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                problems.append(f"{path}: there is no element {address}")
    return problems
