# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""The reading order of the guides, the sidebar, and the links between neighbours."""
from html import escape

GUIDES = "doc://tarn/documentation/Tarn"
# Pages whose topics are pages below them.
LISTS = (GUIDES + "/Guarantees", GUIDES + "/Decisions")


class Contents:
    """The contents of a site."""

    def __init__(self, site):
        self.site = site
        self.order, self.groups = self.reading_order()
        self.unlisted = [f"{identifier}: Tarn.md doesn't list the page" for identifier in site.articles if identifier not in self.order]

    def reading_order(self):
        """Articles in their order, and the groups of the sidebar, as the topics of Tarn.md list them."""
        order, groups = [GUIDES], []
        start = self.site.articles[GUIDES]
        for section in start["topicSections"]:
            entries = []
            for identifier in section["identifiers"]:
                reference = start["references"][identifier]
                entries.append((reference["title"], identifier))
                if identifier in self.site.articles:
                    order.append(identifier)
                    order += [child for child in self.children(identifier) if child not in order]
            groups.append((section["title"], entries))
        return order, groups

    def children(self, identifier):
        """The pages that a page lists as its topics: problems and decisions."""
        if identifier not in LISTS or identifier not in self.site.articles:
            return []
        return [child for section in self.site.articles[identifier].get("topicSections", []) for child in section["identifiers"]]

    def sidebar(self, page, trail):
        """The contents, with the group of the page open."""
        parts = []
        for title, entries in self.groups:
            items, is_open = [], title == self.groups[0][0]
            for name, identifier in entries:
                address = self.site.address(identifier)
                # The page of one problem is below the list of problems, a type's below its module.
                is_current, is_parent = address == page, identifier in trail
                is_open = is_open or is_current or is_parent
                mark = ' aria-current="page"' if is_current else ' class="parent"' if is_parent else ""
                items.append(f'<li><a href="{self.site.relative(page, address)}"{mark}>{escape(name)}</a></li>')
            parts.append(f'<details{" open" if is_open else ""}><summary>{escape(title)}</summary><ul>{"".join(items)}</ul></details>')
        return "".join(parts)

    def neighbours(self, index, file):
        """Links to the previous and the next page in reading order."""
        links = []
        for name, label, position in (("prev", "Previous", index - 1), ("next", "Next", index + 1)):
            if 0 <= position < len(self.order):
                node = self.site.articles[self.order[position]]
                address = self.site.relative(file, self.site.address(self.order[position]))
                links.append(f'<a class="{name}" rel="{name}" href="{address}"><span>{label}</span>{escape(node["metadata"]["title"])}</a>')
        return f'<nav class="neighbours" aria-label="Previous and next page">{"".join(links)}</nav>'
