# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""The parity ledger as a page: its figures are counted from the rows of Documentation/Parity.md."""
import re
from html import escape

STATES = [("same", "same"), ("differs", "same, with differences"), ("absent", "absent"), ("own", "Tarn's own")]


class Row:
    """A row of a table: symbols, state, tests."""

    def __init__(self, section, cells):
        self.section = section
        self.symbol, self.text, self.tests = cells
        words = set(re.findall(r"[\w']+", self.text))
        if "same" in words or "supplied" in words:
            # An exception makes a difference; "same; differs: …".
            self.state = "differs" if words & {"differs", "Differs", "absent", "Absent", "except"} else "same"
        elif words & {"differs", "Differs"}:
            self.state = "differs"
        elif words & {"absent", "Absent", "refused"}:
            self.state = "absent"
        else:
            self.state = "own"
        # Each name in backticks is a symbol; a row without one is a behaviour, and counts once.
        self.count = max(1, len(re.findall(r"`[^`]+`", self.symbol)))


def rows(text):
    """The rows of the ledger, and its introduction."""
    section, introduction, found, previous = "", [], [], ""
    group = ""
    for line in text.split("\n"):
        if line.startswith("## "):
            group = section = line[3:]
        elif line.startswith("### "):
            section = f"{group}: {line[4:]}"
        elif line.startswith("|"):
            cells = [cell.replace("\0", "|").strip() for cell in line.replace("\\|", "\0").strip().strip("|").split("|")]
            if previous.startswith("|") and len(cells) == 3 and set(cells[0]) != {"-"}:
                found.append(Row(section, cells))
        elif not section and not line.startswith("#"):
            introduction.append(line)
        previous = line
    return found, "\n".join(introduction).strip()


def shares(found):
    """Symbols of each state, by section and in all: (name, total, {state: count})."""
    result = {}
    for row in found:
        for name in (row.section, ""):
            counts = result.setdefault(name, dict.fromkeys((key for key, _ in STATES), 0))
            counts[row.state] += row.count
    return [(name, sum(counts.values()), counts) for name, counts in sorted(result.items(), key=lambda item: item[0] == "")]


def percent(count, total):
    return f"{100 * count / total:.0f} %"


def figures(found):
    """The table of percentages, of Apple's symbols only."""
    head = "".join(f'<th scope="col">{escape(title)}</th>' for key, title in STATES if key != "own")
    lines = []
    for name, _, counts in shares(found):
        total = sum(count for key, count in counts.items() if key != "own")
        if not total:
            continue
        cells = "".join(f"<td>{percent(counts[key], total)}</td>" for key, _ in STATES if key != "own")
        lines.append(f'<tr{"" if name else " class=total"}><th scope="row">{escape(name or "All")}</th><td>{total}</td>{cells}</tr>')
    return ('<div class="table" tabindex="0" role="group" aria-label="Symbols by state"><table class="figures"><thead><tr><th scope="col">section</th>'
            f'<th scope="col">symbols</th>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>')


def inline(text, links, code):
    """Markdown of a cell: code and links."""
    parts = re.split(r"(`[^`]+`)", text)
    text = "".join(code(part[1:-1]) if part.startswith("`") else escape(part, quote=False) for part in parts)
    text = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", lambda match: f'<a href="{escape(links(match[2]))}">{match[1]}</a>', text)
    return re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"<em>\1</em>", text)


def table(found, links, code):
    """The rows with their filter; site.js hides the rows that don't match. `links` has the address of a link, `code` renders code."""
    options = "".join(f'<option value="{key}">{escape(title)}</option>' for key, title in STATES)
    parts = [
        '<form class="filter" id="ledger-filter"><label for="ledger-text">Symbol or word</label><input id="ledger-text" type="search" autocomplete="off">'
        f'<label for="ledger-state">State</label><select id="ledger-state"><option value="">every state</option>{options}</select>'
        f'<output id="ledger-count" for="ledger-text ledger-state">{len(found)} rows</output></form>']
    section = None
    for row in found:
        if row.section != section:
            if section is not None:
                parts.append("</tbody></table></div></section>")
            section = row.section
            anchor = re.sub(r"[^\w\- ]", "", section.lower()).replace(" ", "-")
            label = escape(section)
            parts.append(
                f'<section class="ledger"><h2 id="{anchor}">{label}<a class="anchor" href="#{anchor}" aria-label="Link to {label}">#</a></h2>'
                f'<div class="table" tabindex="0" role="group" aria-label="{label}"><table><thead><tr><th scope="col">symbol</th><th scope="col">state</th>'
                '<th scope="col">test</th></tr></thead><tbody>')
        tests = row.tests.replace("`", "").replace(", ", "<br>")
        parts.append(f'<tr data-state="{row.state}"><td>{inline(row.symbol, links, code)}</td><td>{inline(row.text, links, code)}</td><td class="tests">{tests}</td></tr>')
    parts.append("</tbody></table></div></section>")
    return "\n".join(parts)


def stub(text):
    """The page that DocC knows; the site puts the tables in."""
    return (
        "# Parity with Apple's frameworks\n\nEach symbol of Apple's frameworks, its state in Tarn, and the test that shows the state.\n\n## Figures\n\n"
        "Counted from the ledger below: each name in its first column is a symbol, and a row without a name counts once. A row that says *same* and "
        "names an exception is *same, with differences*. Rows of Tarn's own are not counted.\n\n## The ledger\n\n" + rows(text)[1] + "\n")
