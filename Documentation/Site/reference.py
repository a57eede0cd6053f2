# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""The reference: one page for each module and each type, with the type's members in it."""
import re
from html import escape

from content import Renderer, breakable, plain


class Symbol:
    """A symbol of DocC's output."""

    def __init__(self, node):
        self.node = node
        self.identifier = node["identifier"]["url"]
        self.path = self.identifier.split("/documentation/", 1)[1].split("/")
        self.title = node["metadata"]["title"]
        self.kind = node["metadata"].get("symbolKind", "")
        self.role = node["metadata"].get("roleHeading", "")
        self.sections = node.get("topicSections", [])
        # A type has members; anything directly in a module has a page as well.
        self.has_page = len(self.path) <= 2 or bool(self.sections)

    @property
    def file(self):
        names = [re.sub(r"[^a-z0-9_.-]", "-", name.lower()) for name in self.path]
        return "reference/" + ("/".join(names) if len(names) > 1 else names[0] + "/index") + ".html"

    @property
    def anchor(self):
        return self.path[-1]

    @property
    def abstract(self):
        return self.node.get("abstract", [])

    @property
    def declared_name(self):
        """The name with the types around it, as code names it."""
        if len(self.path) < 3:
            return self.title
        names = [re.sub(r"-(?:swift\.\w+|[0-9a-z]{4,})$", "", name) for name in self.path[1:-1]]
        return ".".join([*names, self.title.rsplit(".", 1)[-1] if "(" not in self.title else self.title])


class Reference:
    """Renders the pages of symbols."""

    def __init__(self, site, symbols, groups):
        # DocC puts default implementations of a protocol in a group.
        self.site, self.groups = site, groups
        self.symbols = {symbol.identifier: symbol for symbol in symbols}
        # Members that are on the page of their type: inherited ones of other modules are on none.
        self.shown = {(symbol.identifier, member) for symbol in symbols for section in symbol.sections for member in self.ungrouped(section)}

    def address(self, identifier):
        symbol = self.symbols.get(identifier)
        if symbol is None:
            return None
        if symbol.has_page:
            return symbol.file
        parent = self.symbols.get(identifier.rsplit("/", 1)[0])
        return f"{parent.file}#{symbol.anchor}" if parent and (parent.identifier, identifier) in self.shown else None

    def page(self, symbol):
        """The title, the body and the headings of a page."""
        renderer = Renderer(self.site, symbol.file, symbol.node.get("references", {}), language="swift")
        parts = [f'<p class="eyebrow">{self.trail(symbol)}</p>', f"<h1>{breakable(symbol.title)}</h1>"]
        if symbol.abstract:
            parts.append(f'<p class="abstract">{renderer.inline(symbol.abstract)}</p>')
        parts.append(self.details(symbol, renderer, 2))
        for section in symbol.node.get("relationshipsSections", []):
            parts.append(self.relationships(symbol, section))
        for section in symbol.sections:
            parts.append(renderer.heading(section.get("title", "Symbols"), 2))
            parts.append(self.members(symbol, section, renderer))
        return symbol.title, "\n".join(parts), renderer.headings

    def trail(self, symbol):
        """The role of a symbol, and links to its module and the types around it."""
        links = []
        for depth in range(1, len(symbol.path)):
            identifier = symbol.identifier.split("/documentation/")[0] + "/documentation/" + "/".join(symbol.path[:depth])
            parent = self.symbols.get(identifier)
            if parent:
                links.append(f'<a href="{self.site.relative(symbol.file, parent.file)}">{escape(parent.title)}</a>')
        return " · ".join([*links, escape(symbol.role)])

    def relationships(self, symbol, section):
        names = []
        for identifier in section["identifiers"]:
            reference = symbol.node["references"].get(identifier, {})
            address, title = self.address(identifier), escape(re.sub(r"^(Swift|Foundation)\.", "", reference.get("title", "")))
            if title:
                names.append(f'<a href="{self.site.relative(symbol.file, address)}"><code>{title}</code></a>' if address else f"<code>{title}</code>")
        return f'<p class="relationship"><strong>{escape(section["title"])}:</strong> {", ".join(names)}</p>' if names else ""

    def members(self, symbol, section, renderer):
        rows, parts = [], []
        for identifier in self.ungrouped(section):
            member = self.symbols.get(identifier)
            if member is None:
                continue
            inside = Renderer(self.site, symbol.file, member.node.get("references", {}), language="swift")
            if member.has_page:
                link = f'<a href="{self.site.relative(symbol.file, member.file)}"><code>{breakable(member.title)}</code></a>'
                rows.append(f"<dt>{link}</dt><dd>{inside.inline(member.abstract)}</dd>")
                continue
            label = escape(f"Link to {member.title}")
            parts.append(
                f'<section class="member"><h3 id="{escape(member.anchor)}"><code>{breakable(member.title)}</code>'
                f'<a class="anchor" href="#{escape(member.anchor)}" aria-label="{label}">#</a></h3>')
            if member.abstract:
                parts.append(f"<p>{inside.inline(member.abstract)}</p>")
            parts.append(self.details(member, inside, 4))
            parts.append("</section>")
        listed = f'<dl class="symbols">{"".join(rows)}</dl>' if rows else ""
        return listed + "\n".join(parts)

    def ungrouped(self, section):
        """The symbols of a section, and those of its groups."""
        for identifier in section["identifiers"]:
            group = self.groups.get(identifier)
            if group is None:
                yield identifier
            else:
                for inner in group.get("topicSections", []):
                    yield from inner["identifiers"]

    def details(self, symbol, renderer, level):
        """The declaration and the discussion."""
        parts = []
        if symbol.node.get("deprecationSummary"):
            parts.append(f'<div class="note"><p class="note-name">Deprecated</p>{renderer.blocks(symbol.node["deprecationSummary"])}</div>')
        for section in symbol.node.get("primaryContentSections", []):
            if section["kind"] == "declarations":
                for declaration in section["declarations"]:
                    parts.append(f'<pre class="declaration" tabindex="0"><code>{self.tokens(symbol, declaration["tokens"])}</code></pre>')
            elif section["kind"] == "parameters":
                rows = "".join(f'<dt><code>{escape(row["name"])}</code></dt><dd>{renderer.blocks(row["content"], 1)}</dd>' for row in section["parameters"])
                parts.append(f'<p class="label">Parameters</p><dl class="parameters">{rows}</dl>')
            elif section["kind"] == "content":
                blocks = section["content"]
                # A discussion needs no heading of its own; inside a page's member, headings are labels.
                if blocks and blocks[0].get("type") == "heading" and blocks[0]["text"] in ("Overview", "Discussion"):
                    blocks = blocks[1:]
                for block in blocks:
                    if block["type"] == "heading" and (level > 2 or block["text"] == "Return Value"):
                        parts.append(f'<p class="label">{escape(block["text"])}</p>')
                    else:
                        parts.append(renderer.block(block))
        return "\n".join(parts)

    def tokens(self, symbol, tokens):
        classes = {"keyword": "k", "attribute": "nd", "number": "m", "string": "s", "typeIdentifier": "nc", "identifier": "nf",
                   "externalParam": "n", "internalParam": "n"}
        parts = []
        page = symbol.file if symbol.has_page else self.symbols[symbol.identifier.rsplit("/", 1)[0]].file
        for token in tokens:
            text = escape(token["text"], quote=False)
            kind = classes.get(token["kind"])
            html = f'<span class="{kind}">{text}</span>' if kind else text
            address = self.address(token["identifier"]) if "identifier" in token else None
            parts.append(f'<a href="{self.site.relative(page, address)}">{html}</a>' if address and address != page else html)
        return "".join(parts)

    def entries(self):
        """Entries of the search: title, address, kind, context, text."""
        for symbol in self.symbols.values():
            address = self.address(symbol.identifier)
            if address is None:
                continue
            parent = self.symbols.get(symbol.identifier.rsplit("/", 1)[0]) if len(symbol.path) > 2 else None
            context = parent.declared_name if parent else symbol.path[0]
            # DocC's title of a case begins with its type.
            yield [symbol.title.removeprefix(parent.title + ".") if parent else symbol.title, address, symbol.role or "Symbol", context, plain(symbol.abstract)]
