// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The shell blocks of a document as one script, which ends with the first line that fails.
struct ShellScript {
    private(set) var text = ShellScript.functions
    /// Blocks that are programs of their own.
    private(set) var programs: [String] = []
    private(set) var linesThatRun = 0
    /// The prefixes of ``ShellGuide/linesThatAreNotRun`` that lines have.
    private(set) var prefixesThatAreNotRun: Set<String> = []

    /// `serve` runs in the background and on a free port, and the next line runs once it listens. The documents' servers and tokens stand
    /// for those that the reader has.
    private static let functions = #"""
        set -eu
        unset TARN_DATA TARN_SERVER TARN_TOKEN TARN_DATABASE
        server= address=https://cloud.example.org TOKEN=
        stop() {
            if [ -n "$server" ]; then
                kill "$server"
                wait "$server" || true
                server=
            fi
        }
        trap stop EXIT
        serve() {
            stop
            rm -f listening
            mkfifo listening
            command tarn serve "$@" --port 0 > listening 2>> server.log &
            server=$!
            exec 3< listening
            read -r line <&3
            echo "$line"
            address=${line#tarn: listening on }
        }
        run() {
            program=$1
            shift
            for argument; do
                shift
                set -- "$@" "$(printf %s "$argument" | sed "s/https:..cloud.example.\(com\|org\)/$(printf %s "$address" | sed 's/[\/&]/\\&/g')/; s/=TOKEN/=$TOKEN/")"
            done
            command "$program" "$@"
        }
        tarn() {
            if [ "$1" = serve ]; then
                shift
                serve "$@"
            else
                run tarn "$@"
            fi
        }
        curl() { run curl --silent --show-error --fail "$@"; }
        sudo() {
            if [ "$1" = -u ]; then shift 2; fi
            "$@"
        }

        """#

    init(_ guide: ShellGuide, text document: String) {
        text += guide.preparation + "\n"
        for block in Self.blocks(in: document) {
            var block = block
            for (text, replacement) in guide.replaced { block = block.replacing(text, with: replacement) }
            if block.hasPrefix("#!/bin/sh\n") {
                programs.append(block)
            } else {
                add(block.replacing("\\\n", with: " ").split(separator: "\n"), of: guide)
            }
        }
        text += guide.afterwards + "\n"
    }

    private mutating func add(_ lines: [Substring], of guide: ShellGuide) {
        for line in lines {
            if let known = ShellGuide.linesThatAreNotRun.first(where: { line.hasPrefix($0.prefix) }) {
                prefixesThatAreNotRun.insert(known.prefix)
                continue
            }
            for (prefix, lines) in guide.before where line.hasPrefix(prefix) { text += lines + "\n" }
            text += "echo '+ \(line.replacing("'", with: #"'\''"#))'\n"
            if let variable = guide.copied.first(where: { line.hasPrefix($0.prefix) })?.variable {
                // The end of the substitution is on a line of its own: behind the line, a comment would contain it.
                text += "\(variable)=$(\(line)\n)\n"
            } else {
                text += line + "\n"
            }
            linesThatRun += 1
        }
    }

    /// The fenced blocks that are for a shell: of the language `sh`, or of none and with a command at the beginning.
    static func blocks(in document: String) -> [String] {
        var blocks: [String] = []
        var open: (language: Substring, indent: Int, lines: [Substring])?
        for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
            let content = line.drop { $0 == " " }
            if content.hasPrefix("```") {
                if let block = open {
                    let isShell = block.language == "sh" || block.language.isEmpty && (block.lines.first.map(isCommand) ?? false)
                    if isShell { blocks.append(block.lines.joined(separator: "\n") + "\n") }
                    open = nil
                } else {
                    open = (content.dropFirst(3), line.count - content.count, [])
                }
            } else if let indent = open?.indent {
                open?.lines.append(line.dropFirst(indent))
            }
        }
        return blocks
    }

    private static func isCommand(_ line: Substring) -> Bool {
        ["tarn", "export", "umask", "curl"].contains { line.hasPrefix($0 + " ") }
    }
}
