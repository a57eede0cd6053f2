// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The content of a column with a possibly external value: a tag, then the value's bytes or the file's name and a zero.
///
/// Source: core-data-sqlite-format, "External binary storage" (forensic readers; the threshold is reported only).
enum ExternalValue: Equatable {
    case inline(Data)
    case file(String)

    /// Values with more bytes are stored in files.
    static let inlineMax = 128 * 1024
    static let inlineTag: UInt8 = 1
    static let fileTag: UInt8 = 2
    /// A tag, a UUID's text, a zero.
    static let referenceSize = 38

    /// Bytes without a known tag are the value itself: a store may predate the attribute's external storage.
    init(_ column: Data) {
        if column.first == Self.fileTag, let name = Self.name(column) {
            self = .file(name)
        } else if column.first == Self.inlineTag {
            self = .inline(column.dropFirst())
        } else {
            self = .inline(column)
        }
    }

    var column: Data {
        switch self {
        case .inline(let value): [Self.inlineTag] + value
        case .file(let name): [Self.fileTag] + Data(name.utf8) + [0]
        }
    }

    private static func name(_ column: Data) -> String? {
        guard column.count == referenceSize, column.last == 0 else { return nil }
        let name = String(decoding: column.dropFirst().dropLast(), as: UTF8.self)
        return UUID(uuidString: name) == nil ? nil : name
    }
}

/// The files created by one transaction, and those to remove once it is committed.
struct ExternalDraft {
    var made: [String] = []
    var dropped: [String] = []
    /// The transaction's closure has returned: only the commit can still fail.
    var isReady = false
}
