# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors
"""Tests of the parts of build.py that need no DocC: `python3 -m unittest Documentation/Site/unit_tests.py`."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import catalog  # noqa: E402
import ledger  # noqa: E402
from content import plain  # noqa: E402
from links import dead_links  # noqa: E402

LEDGER = """# Parity ledger

Each symbol.

## Core Data

### Objects
| symbol | state | test |
|---|---|---|
| `a`, `b` | same | `ATests` |
| `c` | same; differs: no events | `CTests` |
| `d \\| e` | absent | |
| faults | differs: are read at once | |
| a history | Tarn's own | |
"""


class LedgerTests(unittest.TestCase):
    def test_states_follow_from_the_words_of_a_row(self):
        found, introduction = ledger.rows(LEDGER)
        self.assertEqual([row.state for row in found], ["same", "differs", "absent", "differs", "own"])
        self.assertEqual([row.count for row in found], [2, 1, 1, 1, 1])
        self.assertEqual(found[2].symbol, "`d | e`")
        self.assertEqual(introduction, "Each symbol.")

    def test_shares_are_of_a_section_and_of_all(self):
        (section, total, counts), (everything, _, _) = ledger.shares(ledger.rows(LEDGER)[0])
        self.assertEqual((section, total, everything), ("Core Data: Objects", 6, ""))
        self.assertEqual(counts, {"same": 2, "differs": 2, "absent": 1, "own": 1})
        self.assertIn("<td>40 %</td><td>40 %</td><td>20 %</td>", ledger.figures(ledger.rows(LEDGER)[0]))


class CatalogTests(unittest.TestCase):
    def test_anchors_are_those_of_git_hubs_pages(self):
        self.assertEqual(catalog.slug("The server's `tarn.json`, 2"), "the-servers-tarnjson-2")

    def test_links_in_code_stay(self):
        text = "[a](A.md)\n```sh\n[b](B.md)\n```\n[c](C.md)\n"
        self.assertEqual(catalog.outside_code(text, lambda part: part.replace(".md", "")), "[a](A)\n```sh\n[b](B.md)\n```\n[c](C)\n")

    def test_an_abstract_with_a_link_begins_the_overview(self):
        text = f"# Title\n\nSee [a]({catalog.LINK_BASE}page/A).\n\nMore.\n"
        self.assertIn("# Title\n\n## Overview\n\nSee", catalog.without_links_in_abstract(text))
        self.assertEqual(catalog.without_links_in_abstract("# Title\n\nText.\n"), "# Title\n\nText.\n")


class PageTests(unittest.TestCase):
    def test_the_text_of_content_is_joined(self):
        parts = [{"type": "text", "text": "Call "}, {"type": "codeVoice", "code": "save()"}, {"type": "text", "text": " first."}]
        self.assertEqual(plain([{"type": "paragraph", "inlineContent": parts}]), "Call save() first.")

    def test_dead_links_and_foreign_scripts_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "a.html"), "w", encoding="utf-8") as file:
                file.write('<p id="x"></p><a href="#x">1</a><a href="#y">2</a><a href="b.html">3</a><a href="https://swift.org">4</a>'
                           '<script src="https://example.org/a.js"></script>')
            problems = [line.split(": ", 1)[1] for line in dead_links(folder)]
        self.assertEqual(problems, ["there is no element #y", "there is no file b.html", "loads https://example.org/a.js from another host"])


if __name__ == "__main__":
    unittest.main()
