# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""Renders the content of DocC's pages (RenderNode JSON) as HTML."""
import re
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from catalog import LINK_BASE, slug

FORMATTER = HtmlFormatter(nowrap=True)


def code(text, language):
    """Code with classes of Pygments; without a language as it is."""
    try:
        return highlight(text, get_lexer_by_name({"sh": "bash"}.get(language, language or "")), FORMATTER).rstrip("\n")
    except ClassNotFound:
        return escape(text, quote=False)


def breakable(name):
    """A name as HTML, with places where a narrow column may break it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[:.(_/])(?=\w)", "<wbr>", escape(name, quote=False))


class Renderer:
    """Renders the content of one page.

    `site` resolves identifiers of DocC and names of symbols; addresses are relative to `page`. `language` is that of code
    without one.
    """

    def __init__(self, site, page, references, language=None):
        self.site, self.page, self.references, self.language = site, page, references, language
        self.headings = []
        self.anchors = {}

    # Text

    def inline(self, parts):
        return "".join(self.part(part) for part in parts or [])

    def part(self, part):
        kind = part["type"]
        if kind == "text":
            return escape(part["text"], quote=False)
        if kind == "codeVoice":
            return self.code_voice(part["code"])
        if kind in ("emphasis", "newTerm"):
            return f"<em>{self.inline(part['inlineContent'])}</em>"
        if kind in ("strong", "inlineHead"):
            return f"<strong>{self.inline(part['inlineContent'])}</strong>"
        if kind == "strikethrough":
            return f"<s>{self.inline(part['inlineContent'])}</s>"
        if kind == "image":
            return self.image(part["identifier"])
        if kind == "reference":
            return self.reference(part)
        raise ValueError(f"{self.page}: unknown inline content {kind}")

    def code_voice(self, text):
        """Code in a sentence, with a link if it is the name of one symbol."""
        html = f"<code>{breakable(text)}</code>"
        address = self.site.address_of_symbol(text)
        if not address or address == self.page:
            return html
        return f'<a href="{self.site.relative(self.page, address)}">{html}</a>'

    def image(self, identifier):
        reference = self.references[identifier]
        name = reference["variants"][0]["url"].rsplit("/", 1)[-1]
        return f'<img src="{self.site.relative(self.page, "images/" + name)}" alt="{escape(reference.get("alt") or "")}">'

    def reference(self, part):
        reference = self.references.get(part["identifier"])
        inline = part.get("overridingTitleInlineContent")
        if reference is None:
            raise ValueError(f"{self.page}: unresolved reference {part['identifier']}")
        if reference["type"] == "link":
            text = self.inline(inline or reference.get("titleInlineContent")) or escape(reference["title"])
            return f'<a href="{escape(self.address(reference["url"]))}">{text}</a>'
        text = self.inline(inline) if inline else escape(reference["title"])
        if reference.get("kind") == "symbol" and not inline:
            text = f"<code>{text}</code>"
        address = self.site.address(part["identifier"])
        return f'<a href="{self.site.relative(self.page, address)}">{text}</a>' if address else text

    def address(self, url):
        """The address of a link between Markdown files."""
        if not url.startswith(LINK_BASE):
            return url
        kind, _, name = url[len(LINK_BASE):].partition("/")
        name, _, anchor = name.partition("#")
        address = "files/" + name if kind == "file" else self.site.page_named(name, self.page)
        if anchor:
            self.site.expect_anchor(self.page, address, anchor)
        return self.site.relative(self.page, address) + ("#" + anchor if anchor else "")

    # Blocks

    def blocks(self, blocks, shift=0):
        return "\n".join(self.block(block, shift) for block in blocks or [])

    def block(self, block, shift=0):
        kind = block["type"]
        if kind == "paragraph":
            if len(block["inlineContent"]) == 1 and block["inlineContent"][0]["type"] == "image":
                # A narrow page scrolls to the parts of a drawing.
                return f'<div class="picture" tabindex="0" role="group" aria-label="Drawing">{self.inline(block["inlineContent"])}</div>'
            return self.paragraph(block["inlineContent"])
        if kind == "heading":
            return self.heading(block["text"], block["level"] + shift)
        if kind == "codeListing":
            return self.listing("\n".join(block["code"]), block.get("syntax") or self.language)
        if kind == "unorderedList":
            return "<ul>" + "".join(f"<li>{self.item(item)}</li>" for item in block["items"]) + "</ul>"
        if kind == "orderedList":
            return "<ol>" + "".join(f"<li>{self.item(item)}</li>" for item in block["items"]) + "</ol>"
        if kind == "termList":
            return "<dl>" + "".join(
                f"<dt>{self.inline(item['term']['inlineContent'])}</dt><dd>{self.blocks(item['definition']['content'], shift)}</dd>"
                for item in block["items"]) + "</dl>"
        if kind == "aside":
            name = escape(block.get("name") or block["style"].capitalize())
            return f'<div class="note"><p class="note-name">{name}</p>{self.blocks(block["content"], shift)}</div>'
        if kind == "table":
            return self.table(block)
        if kind == "thematicBreak":
            return "<hr>"
        raise ValueError(f"{self.page}: unknown content {kind}")

    def paragraph(self, parts):
        """A paragraph. Comments begin the source of a fact with `Source:`, and a difference from Apple's behaviour with `Differs:`."""
        first = parts[0].get("text", "") if parts else ""
        if first.startswith("Differs: "):
            rest = [{"type": "text", "text": first[9:10].upper() + first[10:]}, *parts[1:]]
            return f'<div class="note"><p class="note-name">Differs from Apple’s</p><p>{self.inline(rest)}</p></div>'
        source = ' class="source"' if first.startswith("Source: ") else ""
        return f"<p{source}>{self.inline(parts)}</p>"

    def item(self, item):
        """An item of a list; one paragraph needs no element."""
        content = item["content"]
        if len(content) == 1 and content[0]["type"] == "paragraph":
            return self.inline(content[0]["inlineContent"])
        return self.blocks(content)

    def heading(self, text, level, anchor=None):
        anchor = anchor or slug(text)
        count = self.anchors[anchor] = self.anchors.get(anchor, -1) + 1
        if count:
            anchor = f"{anchor}-{count}"
        self.headings.append((level, text, anchor))
        label = escape(f"Link to {text}")
        return (f'<h{level} id="{escape(anchor)}">{escape(text, quote=False)}'
                f'<a class="anchor" href="#{escape(anchor)}" aria-label="{label}">#</a></h{level}>')

    def listing(self, text, language):
        # Excerpts of functions keep the indentation of their file.
        lines = [line for line in text.split("\n") if line.strip()]
        margin = min((len(line) - len(line.lstrip(" ")) for line in lines), default=0)
        text = "\n".join(line[margin:] for line in text.split("\n")).strip("\n")
        return f'<pre tabindex="0"><code>{code(text, language)}</code></pre>'

    def table(self, block):
        rows = [[self.item({"content": cell}) for cell in row] for row in block["rows"]]
        head = ""
        if block.get("header") in ("row", "both"):
            first, *rows = rows
            if any(first):
                head = "<thead><tr>" + "".join(f'<th scope="col">{cell}</th>' for cell in first) + "</tr></thead>"
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
        return f'<div class="table" tabindex="0" role="group" aria-label="Table"><table>{head}<tbody>{body}</tbody></table></div>'


def plain(parts):
    """The text of content, for the search."""
    if isinstance(parts, dict):
        if parts.get("type") in ("text", "heading") and "text" in parts:
            return parts["text"]
        if "code" in parts:
            return parts["code"] if isinstance(parts["code"], str) else ""
        if parts.get("type") == "reference" and not parts.get("overridingTitleInlineContent"):
            return parts["identifier"].rsplit("/", 1)[-1] if parts["identifier"].startswith("doc:") else ""
        return " ".join(filter(None, (plain(value) for value in parts.values() if isinstance(value, (dict, list)))))
    if isinstance(parts, list):
        glue = "" if parts and isinstance(parts[0], dict) and parts[0].get("type") in ("text", "codeVoice", "reference", "emphasis") else " "
        return re.sub(r"\s+", " ", glue.join(plain(part) for part in parts if isinstance(part, (dict, list)))).strip() \
            if glue == " " else re.sub(r"\s+", " ", "".join(plain(part) for part in parts))
    return ""
