// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import SystemSupport

/// Finds an unknown command before the parser, which doesn't name it in its message.
enum CommandCheck {
    /// - Returns: A sentence about the first unknown command of the arguments; nil if all are known.
    static func problem(_ arguments: some Sequence<String>, root: any ParsableCommand.Type) -> String? {
        var (command, path) = (root, [name(root)])
        for argument in arguments {
            let subcommands = command.configuration.subcommands
            if subcommands.isEmpty || argument.hasPrefix("-") { return nil }
            if argument == "help" { continue }
            if let next = subcommands.first(where: { name($0) == argument || $0.configuration.aliases.contains(argument) }) {
                command = next
                path.append(argument)
                continue
            }
            let suggestion = Suggestion.sentence(for: argument, among: subcommands.map(name))
            let words = path.joined(separator: " ")
            return "'\(TerminalText.escaped(argument))' is not a command of '\(words)'.\(suggestion) See '\(words) --help'."
        }
        return nil
    }

    static func name(_ command: any ParsableCommand.Type) -> String { command._commandName }
}
