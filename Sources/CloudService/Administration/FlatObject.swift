// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// A JSON object of texts, numbers, flags, lists of texts, and lists of such objects: the form of operators' acts and their responses.
package struct FlatObject: WireMessage, ExpressibleByDictionaryLiteral {
    package enum Member: Hashable, Sendable {
        case text(String)
        case number(Int64)
        case flag(Bool)
        case texts([String])
        case objects([FlatObject])
    }

    private var members: [String: Member] = [:]

    /// Members without a value are omitted.
    package init(dictionaryLiteral elements: (String, Member?)...) {
        for (name, member) in elements { members[name] = member }
    }

    // MARK: Members

    /// - Throws: `WireError` with `.badRequest` for a missing text.
    package func text(_ name: String) throws(WireError) -> String {
        guard let text = optionalText(name) else { throw Self.missing(name) }
        return text
    }

    package func optionalText(_ name: String) -> String? { if case .text(let text)? = members[name] { text } else { nil } }

    /// - Throws: `WireError` with `.badRequest` for a missing number.
    package func number(_ name: String) throws(WireError) -> Int64 {
        guard let number = optionalNumber(name) else { throw Self.missing(name) }
        return number
    }

    package func optionalNumber(_ name: String) -> Int64? { if case .number(let number)? = members[name] { number } else { nil } }

    /// `false` for a missing flag.
    package func flag(_ name: String) -> Bool { members[name] == .flag(true) }

    /// Empty for a missing list.
    package func texts(_ name: String) -> [String] { if case .texts(let texts)? = members[name] { texts } else { [] } }

    /// Empty for a missing list.
    package func objects(_ name: String) -> [FlatObject] { if case .objects(let objects)? = members[name] { objects } else { [] } }

    /// - Throws: `WireError` with `.badRequest` for a missing or unknown value.
    package func choice<Choice: RawRepresentable<String>>(_ name: String, _ type: Choice.Type = Choice.self) throws(WireError) -> Choice {
        guard let choice = Choice(rawValue: try text(name)) else { throw WireError(.badRequest, "the value of \(name) is unknown") }
        return choice
    }

    private static func missing(_ name: String) -> WireError { WireError(.badRequest, "the object has no \(name)") }

    // MARK: Coding

    package init(from reader: inout JSONReader) throws(JSONFault) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = key.text
            members[name] = try Self.member(&reader)
        }
    }

    /// - Returns: Nil for a value of another form, which is skipped.
    private static func member(_ reader: inout JSONReader) throws(JSONFault) -> Member? {
        switch try reader.peek() {
        case .string: return .text(try reader.readString())
        case .number: return .number(try reader.readInt64())
        case .bool: return .flag(try reader.readBool())
        case .array:
            var (texts, objects) = ([String](), [FlatObject]())
            try reader.beginArray()
            while try reader.nextElement() {
                if try reader.peek() == .object {
                    objects.append(try FlatObject(from: &reader))
                } else {
                    texts.append(try reader.readString())
                }
            }
            return objects.isEmpty ? .texts(texts) : .objects(objects)
        case .object, .null:
            try reader.skipValue()
            return nil
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                writer.key(name)
                switch member {
                case .text(let text): writer.value(text)
                case .number(let number): writer.value(number)
                case .flag(let flag): writer.value(flag)
                case .texts(let texts): writer.array(texts) { $0.value($1) }
                case .objects(let objects): writer.array(objects) { $0.value($1) }
                }
            }
        }
    }
}

/// A value in the form of a ``FlatObject``.
package protocol FlatMessage: Hashable, Sendable {
    /// - Throws: `WireError` with `.badRequest`.
    init(_ object: FlatObject) throws(WireError)
    var object: FlatObject { get }
}
