// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension SymbolMangler {
    /// How many words a symbol remembers.
    private static let wordsMax = 26

    /// Writes an identifier: its length and its text, with words that stood before replaced by letters.
    ///
    /// A word ends before an underscore, and before a capital that follows a lower-case letter.
    mutating func mangle(identifier: String) {
        let name = Array(identifier.utf8)
        if name.contains(where: { $0 >= 128 }) {
            let encoded = Punycode.encode(identifier)
            write("00\(encoded.utf8.count)")
            if let first = encoded.utf8.first, Self.isDigit(first) || first == UInt8(ascii: "_") { write("_") }
            return write(encoded)
        }
        let known = words.count
        let replaced = replacements(in: name, known)
        if !replaced.isEmpty { write("0") }
        var position = 0
        var nextWord = known
        for (number, replacement) in (replaced + [(start: name.count, word: -1)]).enumerated() {
            if position < replacement.start {
                write("\(replacement.start - position)")
                var isFirst = true
                while position < replacement.start {
                    // Words of this identifier are known by their place in the symbol from here on.
                    if nextWord < words.count, words[nextWord].start == position {
                        words[nextWord].start = text.count
                        nextWord += 1
                    }
                    text.append(isFirst && Self.isDigit(name[position]) ? UInt8(ascii: "X") : name[position])
                    position += 1
                    isFirst = false
                }
            }
            guard replacement.word >= 0 else { break }
            position += words[replacement.word].count
            // The last replacement is a capital; it ends the identifier with a zero when no text follows.
            if number < replaced.count - 1 {
                text.append(UInt8(ascii: "a") + UInt8(replacement.word))
            } else {
                text.append(UInt8(ascii: "A") + UInt8(replacement.word))
                if position == name.count { write("0") }
            }
        }
    }

    /// Finds words that are known, and remembers those that are new by their place in the identifier.
    private mutating func replacements(in name: [UInt8], _ known: Int) -> [(start: Int, word: Int)] {
        var found: [(start: Int, word: Int)] = []
        var start: Int?
        for position in 0...name.count {
            let byte: UInt8 = position < name.count ? name[position] : 0
            if let begin = start {
                let isEnd = byte == UInt8(ascii: "_") || byte == 0 || (!Self.isCapital(name[position - 1]) && Self.isCapital(byte))
                if isEnd {
                    let word = name[begin..<position]
                    if let number = number(of: word, in: name, known) {
                        found.append((begin, number))
                    } else if word.count >= 2, words.count < Self.wordsMax {
                        words.append((begin, word.count))
                    }
                    start = nil
                }
            }
            if start == nil, !Self.isDigit(byte), byte != UInt8(ascii: "_"), byte != 0 { start = position }
        }
        return found
    }

    private func number(of word: ArraySlice<UInt8>, in name: [UInt8], _ known: Int) -> Int? {
        words.indices.first { index in
            let (start, count) = words[index]
            guard count == word.count else { return false }
            return index < known
                ? text[start..<(start + count)].elementsEqual(word) : name[start..<(start + count)].elementsEqual(word)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isCapital(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
}

/// Writes any text with ASCII letters, as RFC 3492 says, with Swift's digits `a`–`z` and `A`–`J`.
enum Punycode {
    private static let base = 36
    private static let least = 1
    private static let most = 26

    static func encode(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { Int($0.value) }
        var output = scalars.filter { $0 < 128 }.map { UInt8($0) }
        let basicCount = output.count
        var handled = basicCount
        if basicCount > 0 { output.append(UInt8(ascii: "_")) }
        var code = 128
        var delta = 0
        var bias = 72
        while handled < scalars.count {
            guard let next = scalars.lazy.filter({ $0 >= code }).min() else { break }
            delta += (next - code) * (handled + 1)
            code = next
            for scalar in scalars {
                if scalar < code { delta += 1 }
                guard scalar == code else { continue }
                append(delta, bias, to: &output)
                bias = adapt(delta, isFirst: handled == basicCount, count: handled + 1)
                delta = 0
                handled += 1
            }
            delta += 1
            code += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func append(_ delta: Int, _ bias: Int, to output: inout [UInt8]) {
        var rest = delta
        var weight = base
        while true {
            let threshold = weight <= bias ? least : min(most, weight - bias)
            if rest < threshold { break }
            output.append(digit(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
            weight += base
        }
        output.append(digit(rest))
    }

    private static func digit(_ value: Int) -> UInt8 {
        value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "A") + UInt8(value - 26)
    }

    private static func adapt(_ delta: Int, isFirst: Bool, count: Int) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var weight = 0
        while delta > (base - least) * most / 2 {
            delta /= base - least
            weight += base
        }
        return weight + (base - least + 1) * delta / (delta + 38)
    }
}
