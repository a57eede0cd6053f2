// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Writes the symbols by which compiled code calls a class's accessors and methods.
///
/// Source: "Mangling" in the Swift project's documentation of its ABI (docs/ABI/Mangling.rst).
package struct SymbolMangler {
    private enum Substitution: Hashable {
        case identifier(String)
        case nominal(module: String, ArraySlice<MangledType.Segment>)
        case type(MangledType)
    }

    var text: [UInt8] = Array("$s".utf8)
    /// Parts of identifiers that later ones may refer to.
    var words: [(start: Int, count: Int)] = []
    private var substitutions: [Substitution: Int] = [:]
    private var lastMerge = Merge()

    /// The last substitution that was written, which a following one may be joined to.
    private struct Merge {
        var start = 0
        var count = 0
        var repetitions = 0
        var isStandard = false
    }

    // MARK: Entities

    /// - Parameters:
    ///   - extending: The module of the extension that declares the member, if the class is another module's.
    ///   - discriminator: For a member that only its file sees, in a class that others see.
    package static func accessor(
        of name: String, type: MangledType, isSetter: Bool, in module: String, _ path: [MangledType.Segment],
        extending: String? = nil, discriminator: String? = nil
    ) -> String {
        var mangler = SymbolMangler()
        mangler.write(context: module, path[...], extending)
        mangler.write(name, discriminator)
        mangler.write(type)
        mangler.write(isSetter ? "vs" : "vg")
        return mangler.symbol
    }

    package static func method(
        _ name: String, labels: [String?], parameters: [MangledType], result: MangledType?, in module: String,
        _ path: [MangledType.Segment], extending: String? = nil, discriminator: String? = nil
    ) -> String {
        var mangler = SymbolMangler()
        mangler.write(context: module, path[...], extending)
        mangler.write(name, discriminator)
        if !labels.isEmpty { mangler.write(labels: labels) }
        mangler.write(result ?? .void)
        switch parameters.count {
        case 0: mangler.write("y")
        case 1 where labels[0] == nil: mangler.write(parameters[0])
        default: mangler.write(MangledType.tuple(parameters))
        }
        mangler.write("F")
        return mangler.symbol
    }

    private var symbol: String { String(decoding: text, as: UTF8.self) }

    private mutating func write(context module: String, _ path: ArraySlice<MangledType.Segment>, _ extending: String?) {
        write(nominal: module, path)
        guard let extending, extending != module else { return }
        write(module: extending)
        write("E")
    }

    private mutating func write(labels: [String?]) {
        if labels.allSatisfy({ $0 == nil }) { return write("y") }
        for label in labels {
            if let label { write(identifier: label) } else { write("_") }
        }
    }

    mutating func write(_ part: String) { text.append(contentsOf: part.utf8) }

    private mutating func write(_ name: String, _ discriminator: String?) {
        write(identifier: name)
        guard let discriminator else { return }
        write(identifier: discriminator)
        write("LL")
    }

    // MARK: Types

    private mutating func write(_ type: MangledType) {
        switch type {
        case .void: write("y")
        case .any: write("yp")
        case .anyObject: write("yXl")
        case .nominal(let module, let path): write(nominal: module, path[...])
        case .tuple(let elements):
            for (index, element) in elements.enumerated() {
                write(element)
                if index == 0 { write("_") }
            }
            write("t")
        case .optional(let wrapped):
            substituting(.type(type)) {
                $0.write(wrapped)
                $0.write("Sg")
            }
        case .existential(let module, let name):
            substituting(.nominal(module: module, [MangledType.Segment(name, .class)])) {
                $0.write(module: module)
                $0.write(identifier: name)
            }
            write("_p")
        case .generic(let module, let path, let arguments):
            substituting(.type(type)) {
                $0.write(nominal: module, path[...])
                for level in path.indices { $0.write(level == 0 ? "y" : "_") }
                for argument in arguments { $0.write(argument) }
                $0.write("G")
            }
        }
    }

    private static let standard = [
        "Array": "a", "Bool": "b", "Dictionary": "D", "Double": "d", "Float": "f", "Set": "h", "Int": "i", "Optional": "q",
        "String": "S", "Substring": "s", "UInt": "u", "Character": "J", "Range": "n", "ClosedRange": "N",
    ]

    private mutating func write(nominal module: String, _ path: ArraySlice<MangledType.Segment>) {
        guard let last = path.last else { return write(module: module) }
        if module == "Swift", path.count == 1, let letter = Self.standard[last.name] {
            if !merge(letter, isStandard: true) { write("S" + letter) }
            return
        }
        substituting(.nominal(module: module, path)) {
            $0.write(nominal: module, path.dropLast())
            $0.write(last.name, last.discriminator)
            $0.write(last.kind.rawValue)
        }
    }

    private mutating func write(module: String) {
        if module == "Swift" { write("s") } else { write(identifier: module) }
    }

    // MARK: Substitutions

    mutating func write(identifier: String) {
        substituting(.identifier(identifier)) { $0.mangle(identifier: identifier) }
    }

    /// Writes a substitution for a part that was written before, or writes the part.
    private mutating func substituting(_ substitution: Substitution, write: (inout SymbolMangler) -> Void) {
        guard let number = substitutions[substitution] else {
            write(&self)
            substitutions[substitution] = substitutions.count
            return
        }
        if number >= 26 {
            self.write(number == 26 ? "A_" : "A\(number - 27)_")
            return
        }
        let letter = String(UnicodeScalar(UInt8(ascii: "A") + UInt8(number)))
        if !merge(letter, isStandard: false) { self.write("A" + letter) }
    }

    /// Joins a substitution to the one right before it: `ABAC` is `AbC`, and `ABAB` is `A2B`.
    private mutating func merge(_ letter: String, isStandard: Bool) -> Bool {
        if lastMerge.repetitions > 0, lastMerge.start + lastMerge.count == text.count, lastMerge.isStandard == isStandard {
            let last = text[lastMerge.start...].drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            if last.elementsEqual(letter.utf8) {
                lastMerge.repetitions += 1
                text.removeSubrange(lastMerge.start...)
                write("\(lastMerge.repetitions)\(letter)")
                lastMerge.count = text.count - lastMerge.start
                return true
            }
            if !isStandard {
                // Lower case says that another letter follows.
                text[text.count - 1] += 32
                lastMerge = Merge(start: text.count, count: 1, repetitions: 1, isStandard: false)
                write(letter)
                return true
            }
        }
        lastMerge = Merge(start: text.count + 1, count: letter.utf8.count, repetitions: 1, isStandard: isStandard)
        return false
    }
}
