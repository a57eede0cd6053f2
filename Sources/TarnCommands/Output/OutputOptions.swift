// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser

/// The `--json` of commands that print data.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, one object per line.")
    var json = false

    /// - Parameter ifEmpty: A sentence on standard error for a table without rows. With `--json`, such a table has no output.
    func print(_ table: Table, ifEmpty: String) {
        if json { return table.jsonLines.forEach(Output.line) }
        if table.rows.isEmpty { return Output.note(ifEmpty) }
        Output.line(table.text(.output))
    }

    /// Prints the result about one object: a sentence, or JSON with `--json`.
    ///
    /// - Parameter members: Names and JSON texts.
    func print(_ sentence: String, _ members: KeyValuePairs<String, String>) {
        guard json else { return Output.line(sentence) }
        Output.line("{" + members.map { "\(JSONText.string($0.key)):\($0.value)" }.joined(separator: ",") + "}")
    }

    /// Prints the result of a command that is silent without `--json`: one object.
    ///
    /// - Parameter members: Names and values.
    func printObject(_ members: KeyValuePairs<String, Table.Cell>) {
        guard json else { return }
        Output.line("{" + members.map { "\(JSONText.string($0.key)):\(Table.json($0.value))" }.joined(separator: ",") + "}")
    }

    /// Prints a new secret alone on standard output, for scripts, and its use on standard error.
    ///
    /// - Parameter key: Name of the secret's member in JSON.
    func print(secret: String, _ key: String, _ note: String) {
        if json { return Output.line("{\(JSONText.string(key)):\(JSONText.string(secret))}") }
        Output.note(note)
        Output.line(secret)
    }
}

enum Help {
    /// A command's discussion with its examples, one per line.
    static func discussion(_ text: String = "", examples: String...) -> String {
        (text.isEmpty ? "" : text + "\n\n") + "Examples:\n" + examples.map { "  " + $0 }.joined(separator: "\n")
    }
}
