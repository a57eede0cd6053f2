// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Observers of notifications: `addObserver(_:selector:name:object:)` becomes the form with a block.

extension PortScan {
    /// Rewrites the call around a `#selector`, if it is one of `addObserver(self, selector:name:object:)` as a statement, and
    /// if the method that it names is in the same file.
    ///
    /// The observation then ends with the object, as `self` is held weakly. A call of `removeObserver(self)` in `deinit` does
    /// nothing more; elsewhere it would have ended the observation, so there's no edit then.
    ///
    /// - Returns: Whether the place is such a call, with an edit or without.
    mutating func addObserver(_ selector: Int, _ selectorEnd: Int) -> Bool {
        // addObserver ( self , selector : #selector
        guard selector >= 6, tokens[selector - 1].isMark(":"), tokens[selector - 2].isWord("selector"), tokens[selector - 3].isMark(","),
            tokens[selector - 5].isMark("("), tokens[selector - 6].isWord("addObserver"), let end = closing(selector - 5)
        else { return false }
        var start = selector - 6
        while start >= 2, tokens[start - 1].isMark("."), tokens[start - 2].kind == .word || tokens[start - 2].isMark(")") {
            if tokens[start - 2].isMark(")") {
                guard let open = opening(start - 2) else { return false }
                start = open
                if start >= 1, tokens[start - 1].kind == .word { start -= 1 }
            } else {
                start -= 2
            }
        }
        let arguments = text(tokens[selectorEnd].range.upperBound..<tokens[end].range.lowerBound)
        let note: String?
        var replacement: String?
        if !tokens[selector - 4].isWord("self") {
            note = "the observer is not self"
        } else if !tokens[start].startsLine && !isStatementStart(start) {
            note = "the call is part of an expression"
        } else if removesSelfOutsideDeinit {
            note =
                "removeObserver(self) ends the observation elsewhere; keep what addObserver(forName:object:queue:using:) returns, and remove that"
        } else if let call = call(of: selector, selectorEnd) {
            note = nil
            let receiver = text(tokens[start].range.lowerBound..<tokens[selector - 6].range.lowerBound)
            var rest = arguments
            if let comma = rest.firstIndex(of: ",") { rest = String(rest[rest.index(after: comma)...].drop(while: \.isWhitespace)) }
            guard rest.hasPrefix("name:") else {
                add(.observer, start, to: end, edit: nil)
                return true
            }
            rest = "forName:" + rest.dropFirst("name:".count)
            replacement = "_ = \(receiver)addObserver(\(rest), queue: nil) { [weak self] \(call.parameter) in self?.\(call.text) }"
        } else {
            note = "the method is not in this file"
        }
        add(.observer, start, to: end, edit: replacement)
        obstacles[obstacles.count - 1].note = note
        return true
    }

    private func isStatementStart(_ index: Int) -> Bool {
        index > 0 && (tokens[index - 1].isMark("{") || tokens[index - 1].isMark(";") || tokens[index - 1].isWord("in"))
    }

    private func opening(_ end: Int) -> Int? {
        var depth = 0
        for index in stride(from: end, through: 0, by: -1) {
            if tokens[index].isMark(")") { depth += 1 }
            if tokens[index].isMark("(") { depth -= 1 }
            if depth == 0 { return index }
        }
        return nil
    }

    /// The call of the method that `#selector(…)` names, found by its declaration.
    private func call(of selector: Int, _ end: Int) -> (parameter: String, text: String)? {
        let inner = Array(tokens[(selector + 2)..<end])
        guard let base = inner.firstIndex(where: { $0.isMark("(") }).map({ $0 - 1 }) ?? inner.indices.last, base >= 0 else { return nil }
        let name = inner[base].text
        for (index, token) in tokens.enumerated()
        where token.isWord("func") && index + 3 < tokens.count && tokens[index + 1].text == name && tokens[index + 2].isMark("(") {
            if tokens[index + 3].isMark(")") { return ("_", "\(name)()") }
            let label = tokens[index + 3].text
            guard let close = closing(index + 2), !(index..<close).contains(where: { tokens[$0].isMark(",") }) else { return nil }
            return ("notification", label == "_" ? "\(name)(notification)" : "\(name)(\(label): notification)")
        }
        return nil
    }

    private var removesSelfOutsideDeinit: Bool {
        var deinits: [Range<Int>] = []
        for (index, token) in tokens.enumerated() where token.isWord("deinit") {
            if let end = closing(index + 1) { deinits.append(index..<end) }
        }
        return tokens.indices.contains { index in
            tokens[index].isWord("removeObserver") && index + 2 < tokens.count && tokens[index + 2].isWord("self")
                && !deinits.contains { $0.contains(index) }
        }
    }
}
