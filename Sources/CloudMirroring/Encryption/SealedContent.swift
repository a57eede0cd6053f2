// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The plain content of an encrypted field.
enum SealedContent: Hashable, Sendable {
    case value(FieldValue)
    /// A cleared value.
    case absent
    /// A value in an asset.
    case asset(checksum: String)

    private static let absentKind: UInt8 = 0
    private static let assetKind: UInt8 = 6

    var bytes: [UInt8] {
        switch self {
        case .value(let value): SealedKind.bytes(of: value)
        case .absent: [Self.absentKind]
        case .asset(let checksum): [Self.assetKind] + Array(checksum.utf8)
        }
    }

    /// nil for bytes that no version of this library wrote.
    init?(_ bytes: [UInt8]) {
        switch bytes.first {
        case Self.absentKind where bytes.count == 1: self = .absent
        case Self.assetKind:
            guard let checksum = String(validating: bytes.dropFirst(), as: UTF8.self) else { return nil }
            self = .asset(checksum: checksum)
        default:
            guard let value = SealedKind.value(of: bytes) else { return nil }
            self = .value(value)
        }
    }
}

/// Encodes a value as bytes for encryption. Kinds are never renumbered.
private enum SealedKind: UInt8 {
    case string = 1
    case bytes = 2
    case int64 = 3
    case double = 4
    case timestamp = 5

    static func bytes(of value: FieldValue) -> [UInt8] {
        func tagged(_ kind: SealedKind, _ bytes: [UInt8]) -> [UInt8] { [kind.rawValue] + bytes }
        func number(_ kind: SealedKind, _ bits: UInt64) -> [UInt8] {
            tagged(kind, (0..<8).map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) })
        }
        switch value {
        case .string(let text): return tagged(.string, Array(text.utf8))
        case .bytes(let bytes): return tagged(.bytes, bytes)
        case .int64(let value): return number(.int64, UInt64(bitPattern: value))
        case .double(let value): return number(.double, value.bitPattern)
        case .timestamp(let value): return number(.timestamp, UInt64(bitPattern: value))
        case .reference, .location, .asset, .list: preconditionFailure("attributes are never references, locations, assets or lists")
        }
    }

    static func value(of bytes: [UInt8]) -> FieldValue? {
        guard let first = bytes.first, let kind = SealedKind(rawValue: first) else { return nil }
        let rest = bytes.dropFirst()
        func bits() -> UInt64? { rest.count == 8 ? rest.enumerated().reduce(0) { $0 | UInt64($1.element) << ($1.offset * 8) } : nil }
        switch kind {
        case .string: return String(validating: rest, as: UTF8.self).map { .string($0) }
        case .bytes: return .bytes(Array(rest))
        case .int64: return bits().map { .int64(Int64(bitPattern: $0)) }
        case .double: return bits().map { .double(Double(bitPattern: $0)) }
        case .timestamp: return bits().map { .timestamp(Int64(bitPattern: $0)) }
        }
    }
}
