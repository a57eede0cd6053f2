// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The header fields of a request, in their order; names are compared without case.
///
/// A request has about ten fields and is asked for twenty, most of which it lacks. The length and the ends of a name tell nearly all of
/// them apart, which costs less than one hash of a name.
///
/// ```
/// let headers: RequestHeaders = ["authorization": "Bearer …"]
/// headers["Authorization"]   // "Bearer …"
/// ```
package struct RequestHeaders: ExpressibleByDictionaryLiteral, Sendable {
    private struct Field {
        let name: String
        let mark: UInt64
        var value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
            mark = RequestHeaders.mark(of: name)
        }
    }

    private var fields: [Field] = []

    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }

    package init(_ values: [String: String]) {
        for (name, value) in values { append(name, value) }
    }

    package init(capacity: Int) { fields.reserveCapacity(capacity) }

    package mutating func append(_ name: String, _ value: String) { fields.append(Field(name, value)) }

    package var names: some Sequence<String> { fields.lazy.map(\.name) }

    /// The last value of a name; setting it replaces all of them.
    package subscript(name: String) -> String? {
        get {
            let mark = Self.mark(of: name)
            for index in fields.indices.reversed() where fields[index].mark == mark && Self.areEqual(fields[index].name, name) {
                return fields[index].value
            }
            return nil
        }
        set {
            let mark = Self.mark(of: name)
            fields.removeAll { $0.mark == mark && Self.areEqual($0.name, name) }
            if let newValue { append(name, newValue) }
        }
    }

    /// All values of a name, in their order.
    package func values(of name: String) -> [String] {
        let mark = Self.mark(of: name)
        return fields.compactMap { $0.mark == mark && Self.areEqual($0.name, name) ? $0.value : nil }
    }

    /// The length of a name with its first and last byte in lower case.
    private static func mark(of name: String) -> UInt64 {
        var name = name
        return name.withUTF8 { bytes in
            guard let first = bytes.first, let last = bytes.last else { return 0 }
            return UInt64(bytes.count) << 16 | UInt64(lower(first)) << 8 | UInt64(lower(last))
        }
    }

    /// Compares names of one length.
    private static func areEqual(_ first: String, _ second: String) -> Bool {
        var (first, second) = (first, second)
        return first.withUTF8 { first in
            second.withUTF8 { second in first.indices.allSatisfy { first[$0] == second[$0] || lower(first[$0]) == lower(second[$0]) } }
        }
    }

    private static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
