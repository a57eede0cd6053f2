// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import Foundation
import ManagedModel

/// A value that is, or may become, the content of an asset: data, which may be a mapped file, or a text. Nothing here copies
/// it as a whole but ``fieldValue`` and ``bytes``.
package enum LongValue: Hashable, Sendable {
    case data(Data)
    case text(String)

    /// Returns the long value of an attribute; nil if it fits a field.
    init?(_ stored: StoredValue, as type: AttributeType) {
        switch (type, stored) {
        case (.binaryData, .data(let data)), (.transformable, .data(let data)): self = .data(data)
        case (.string, .string(let text)): self = .text(text)
        default: return nil
        }
        if byteCount <= RecordChanges.inlineBytesMax { return nil }
    }

    /// nil for kinds that never move to an asset.
    init?(_ value: FieldValue) {
        switch value {
        case .string(let text): self = .text(text)
        case .bytes(let bytes): self = .data(Data(bytes))
        default: return nil
        }
    }

    package var byteCount: Int {
        switch self {
        case .data(let data): data.count
        case .text(let text): text.utf8.count
        }
    }

    package var bytes: [UInt8] {
        switch self {
        case .data(let data): [UInt8](data)
        case .text(let text): Array(text.utf8)
        }
    }

    var fieldValue: FieldValue {
        switch self {
        case .data(let data): .bytes([UInt8](data))
        case .text(let text): .string(text)
        }
    }

    package var digest: ContentDigest {
        switch self {
        case .data(let data): ContentDigest(data)
        case .text(let text): withUTF8(of: text) { ContentDigest($0) }
        }
    }

    /// The bytes in order, in pieces of one length but for the last.
    package func forEachPiece(of length: Int, _ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        switch self {
        case .data(let data): try MappedFile.forEachPiece(of: data, length: length, body)
        case .text(let text):
            try withUTF8(of: text) { bytes in
                for start in stride(from: 0, to: bytes.count, by: length) {
                    try body(UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + length, bytes.count)]))
                }
            }
        }
    }

    func isSame(as value: FieldValue) -> Bool {
        switch (self, value) {
        case (.data(let data), .bytes(let bytes)): data.count == bytes.count && data.elementsEqual(bytes)
        case (.text(let text), .string(let other)): text.utf8.elementsEqual(other.utf8)
        default: false
        }
    }

    /// Texts made by Swift lie in one piece; others are copied.
    private func withUTF8<Result>(of text: String, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        if let result = try text.utf8.withContiguousStorageIfAvailable({ try body(UnsafeRawBufferPointer($0)) }) { return result }
        return try Array(text.utf8).withUnsafeBytes(body)
    }
}
