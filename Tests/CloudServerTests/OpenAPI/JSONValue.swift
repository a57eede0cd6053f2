// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A JSON text as values, read and written by Foundation: not by the codec that is tested.
indirect enum JSONValue: Hashable, Sendable {
    case null
    case flag(Bool)
    case number(Double)
    case text(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init(_ bytes: some Sequence<UInt8>) throws {
        self.init(tree: try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed))
    }

    private init(tree: Any) {
        switch tree {
        case let text as String: self = .text(text)
        case let list as [Any]: self = .array(list.map { JSONValue(tree: $0) })
        case let object as [String: Any]: self = .object(object.mapValues { JSONValue(tree: $0) })
        case let number as NSNumber:
            self = CFBooleanLike.isBoolean(number) ? .flag(number.boolValue) : .number(number.doubleValue)
        default: self = .null
        }
    }

    private var tree: Any {
        switch self {
        case .null: NSNull()
        case .flag(let value): value
        case .number(let value): Int64(exactly: value).map { $0 as Any } ?? value
        case .text(let value): value
        case .array(let list): list.map(\.tree)
        case .object(let object): object.mapValues(\.tree)
        }
    }

    var bytes: [UInt8] {
        get throws { [UInt8](try JSONSerialization.data(withJSONObject: tree, options: [.fragmentsAllowed, .sortedKeys])) }
    }

    subscript(key: String) -> JSONValue? {
        if case .object(let object) = self { object[key] } else { nil }
    }

    subscript(index: Int) -> JSONValue? { list.indices.contains(index) ? list[index] : nil }

    var string: String? { if case .text(let text) = self { text } else { nil } }
    var list: [JSONValue] { if case .array(let list) = self { list } else { [] } }
    var members: [String: JSONValue] { if case .object(let object) = self { object } else { [:] } }
}

private enum CFBooleanLike {
    /// Foundation keeps JSON's true and false as numbers of a type of their own.
    static func isBoolean(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
}
