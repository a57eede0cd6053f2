// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// How the pages look, by day and by night.
enum ConsoleStyle {
    /// What stands beside the title in a browser's list of pages.
    static let sign = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#14603f"/>\
        <path d="M4 20c4-4 8-4 12 0s8 4 12 0v8H4z" fill="#7fd1a8"/><path d="M16 5l6 9H10z" fill="#fff"/></svg>
        """

    static let text = """
        :root {
          color-scheme: light dark;
          --paper: #fbfbf9; --ink: #1c2024; --faint: #626a72; --line: #d9dcd8; --card: #ffffff; --accent: #14603f;
          --on-accent: #ffffff; --bad: #a12622; --good: #14603f; --tint: #eef3ef;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --paper: #14171a; --ink: #e6e8ea; --faint: #9aa3ab; --line: #30363c; --card: #1b1f23; --accent: #7fd1a8;
            --on-accent: #0c1511; --bad: #ff9a92; --good: #7fd1a8; --tint: #1f2924;
          }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
        a { color: var(--accent); }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        .skip { position: absolute; left: -99em; }
        .skip:focus { left: 1em; top: 1em; background: var(--card); padding: .5em 1em; }
        header { display: flex; flex-wrap: wrap; gap: .25em 1.25em; align-items: center; padding: .75em 1.5em;
          border-bottom: 1px solid var(--line); background: var(--card); }
        header strong { font-size: 1.1em; letter-spacing: .02em; }
        header nav { display: flex; flex-wrap: wrap; gap: .25em .25em; flex: 1; }
        header nav a { padding: .3em .75em; border-radius: 6px; text-decoration: none; color: var(--ink); }
        header nav a:hover { background: var(--tint); }
        header nav a[aria-current] { background: var(--tint); color: var(--accent); font-weight: 600; }
        header form { margin: 0; display: flex; gap: .75em; align-items: center; color: var(--faint); }
        main { max-width: 78em; margin: 0 auto; padding: 1.5em; }
        h1 { font-size: 1.5em; margin: 0 0 .75em; }
        h2 { font-size: 1.1em; margin: 2em 0 .5em; }
        .card > :first-child, .card > h2, .card > .row:first-of-type label { margin-top: 0; }
        .card > input[type=hidden]:first-child + label { margin-top: 0; }
        .card > :last-child { margin-bottom: 0; }
        p, ul { margin: .5em 0; }
        .faint { color: var(--faint); }
        .problem { color: var(--bad); font-weight: 600; }
        .good { color: var(--good); font-weight: 600; }
        .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.25em; margin: 1em 0; }
        .narrow { max-width: 26em; margin: 3em auto; }
        .scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
        table { border-collapse: collapse; width: 100%; }
        th, td { text-align: left; vertical-align: top; padding: .5rem .9rem; border-bottom: 1px solid var(--line); }
        tr:last-child td { border-bottom: 0; }
        th { font-weight: 600; color: var(--faint); font-size: .88em; white-space: nowrap; }
        td code, pre { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
        pre { white-space: pre-wrap; margin: 0; }
        .number { text-align: right; font-variant-numeric: tabular-nums; }
        label { display: block; font-weight: 600; margin: .75em 0 .25em; }
        label.inline { display: inline-flex; gap: .4em; align-items: center; font-weight: 400; margin: .25em 1em .25em 0; }
        input, select, textarea, button { font: inherit; color: inherit; }
        input:not([type=checkbox]), select, textarea { width: 100%; padding: .45em .6em; border: 1px solid var(--line);
          border-radius: 6px; background: var(--paper); }
        input[type=checkbox] { accent-color: var(--accent); width: 1.1em; height: 1.1em; }
        input:not([type=checkbox]), select { height: 2.6em; }
        input[type=file] { height: auto; }
        input::file-selector-button { font: inherit; color: var(--accent); background: transparent; margin-right: .75em;
          border: 1px solid var(--line); border-radius: 6px; padding: .1em .75em; cursor: pointer; }
        #rows td { white-space: nowrap; }
        textarea { min-height: 16em; font: 13px/1.5 ui-monospace, monospace; }
        textarea.short { min-height: 8em; }
        textarea.line { min-height: 2.6em; font: inherit; resize: vertical; }
        fieldset { border: 0; padding: 0; margin: .75em 0 0; min-width: 0; }
        legend { font-weight: 600; padding: 0; }
        .element { margin: .25em 0; align-items: center; }
        .field > p { margin: .1em 0 0; }
        .conflict { margin-bottom: 1.5em; }
        button { padding: .45em 1em; border-radius: 6px; border: 1px solid var(--accent); background: var(--accent);
          color: var(--on-accent); cursor: pointer; }
        button:disabled { opacity: .45; cursor: not-allowed; }
        button.plain { background: transparent; color: var(--accent); }
        button.danger { background: transparent; border-color: var(--bad); color: var(--bad); }
        .row { display: flex; flex-wrap: wrap; gap: .75em; align-items: end; }
        .row > * { flex: 1 1 9em; }
        .row > button, .row > .tight { flex: 0 0 auto; }
        .actions { display: flex; gap: .75em; margin-top: 1em; flex-wrap: wrap; }
        .secret { font: 14px/1.5 ui-monospace, monospace; background: var(--tint); padding: .75em 1em; border-radius: 6px;
          overflow-wrap: anywhere; }
        .file { display: flex; flex-wrap: wrap; gap: .75em; align-items: center; }
        .file input[type=file] { width: auto; flex: 1 1 16em; }
        .follow { align-items: center; margin-bottom: .5em; }
        .follow > p { flex: 1; }
        .time, .id { white-space: nowrap; font-variant-numeric: tabular-nums; }
        .new { animation: appear 1.5s; }
        @keyframes appear { from { background: var(--tint); } }
        @media (prefers-reduced-motion: reduce) { .new { animation: none; } }
        details { margin-top: 1.25em; border-top: 1px solid var(--line); padding-top: .75em; }
        summary { color: var(--bad); cursor: pointer; width: fit-content; }
        @media (max-width: 44em) {
          main { padding: 1em; }
          header { padding: .75em 1em; }
          header strong { flex: 1; }
          header nav { order: 3; flex: 1 0 100%; flex-wrap: nowrap; overflow-x: auto; margin: 0 -1em; padding: 0 1em .25em; }
          td code { overflow-wrap: normal; }
        }
        .gone { color: var(--faint); text-decoration: line-through; }

        """
}
