// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Crypto
import Foundation
import ManagedModel
import MirroringCore

/// Encrypts fields before they are sent and decrypts them when they arrive: AES-GCM with 256-bit keys, a random nonce for each value, and
/// container, record and field as associated data, so that values cannot be exchanged.
///
///     1 byte      8 bytes   12 bytes   n bytes            16 bytes
///     version 1   key id    nonce      kind and value     tag
///
/// Long content is encrypted in pieces, in another format: see ``SealedPieces``.
///
/// The server stores bytes. The code above works on decrypted records: this device compares, merges and stores the values of its rows.
struct RecordSealer: Sendable {
    let keys: EncryptionKeyRing
    let container: String

    static let version: UInt8 = 1
    private static let headerBytes = 1 + EncryptionKeyRing.KeyID.byteCount
    private static let nonceBytes = 12
    private static let tagBytes = 16

    // MARK: Records

    /// Returns a record as it is sent. Assets are encrypted when they are uploaded.
    func sealed(_ record: Record) throws -> Record {
        guard record.fields.values.contains(where: { $0.isEncrypted && $0.value != nil }) else { return record }
        var record = record
        for (name, field) in record.fields {
            guard field.isEncrypted, let value = field.value else { continue }
            record.fields[name] = Field(.bytes(try seal(SealedKind.bytes(of: value), of: record.recordName, name)), isEncrypted: true)
        }
        return record
    }

    /// Returns a received record with decrypted values.
    ///
    /// - Throws: `CloudFailure` for a value without its key on this device, or for a forged or damaged value.
    func opened(_ record: Record, _ mapping: RecordMapping) throws -> Record {
        guard let entity = mapping.entity(of: record), entity.hasEncryptedFields else { return record }
        var record = record
        for property in entity.properties where property.isEncrypted {
            guard let field = record.fields[property.fieldName], let value = field.value else { continue }
            guard case .bytes(let sealed) = value, let opened = SealedKind.value(of: try open(sealed, of: record.recordName, property.fieldName))
            else { throw Self.foreign }
            record.fields[property.fieldName] = Field(opened, isEncrypted: true)
        }
        return record
    }

    // MARK: Bytes

    func seal(_ bytes: [UInt8], of recordName: String, _ field: String) throws -> [UInt8] {
        let (id, key) = try keys.sealingKey()
        let box = try AES.GCM.seal(bytes, using: key, authenticating: context(recordName, field))
        return [Self.version] + id.bytes + Array(box.nonce) + box.ciphertext + box.tag
    }

    func open(_ sealed: [UInt8], of recordName: String, _ field: String) throws -> [UInt8] {
        if sealed.first == SealedPieces.version {
            var opened: [UInt8] = []
            try openPieces(Data(sealed), of: recordName, field) { opened += $0 }
            return opened
        }
        guard sealed.count >= Self.headerBytes + Self.nonceBytes + Self.tagBytes, sealed[0] == Self.version else { throw Self.foreign }
        let id = EncryptionKeyRing.KeyID(bytes: Array(sealed[1..<Self.headerBytes]))
        let key = try key(id)
        do {
            let box = try AES.GCM.SealedBox(combined: sealed[Self.headerBytes...])
            return Array(try AES.GCM.open(box, using: key, authenticating: context(recordName, field)))
        } catch {
            throw Self.foreign
        }
    }

    // MARK: Pieces

    /// Encrypts long content in pieces.
    func sealPieces(of content: LongValue, of recordName: String, _ field: String, _ write: ([UInt8]) throws -> Void) throws {
        let (id, key) = try keys.sealingKey()
        let pieces = try SealedPieces(id, key, context: context(recordName, field), byteCount: content.byteCount)
        try write(pieces.header)
        var number: UInt64 = 0
        try content.forEachPiece(of: SealedPieces.pieceBytes) { piece in
            try write(try pieces.sealed(piece, number))
            number += 1
        }
        if number == 0 { try write(try pieces.sealed(UnsafeRawBufferPointer(start: nil, count: 0), 0)) }
    }

    /// - Parameter sealed: May be a mapped file.
    func openPieces(_ sealed: Data, of recordName: String, _ field: String, _ write: (Data) throws -> Void) throws {
        guard let header = SealedPieces.Header(sealed) else { throw Self.foreign }
        let pieces = SealedPieces(header, try key(header.keyID), context: context(recordName, field), sealedBytes: sealed.count)
        var number: UInt64 = 0
        try MappedFile.forEachPiece(of: sealed.dropFirst(SealedPieces.headerBytes), length: SealedPieces.sealedPieceBytes) { piece in
            guard let opened = pieces.opened(piece, number) else { throw Self.foreign }
            try write(opened)
            number += 1
        }
    }

    private func key(_ id: EncryptionKeyRing.KeyID) throws -> SymmetricKey {
        if let key = try keys.key(id) { return key }
        throw CloudFailure(
            .accountTemporarilyUnavailable,
            "data was encrypted on another device with a key that is not here; add that device's keys with addEncryptionKeys(_:to:)")
    }

    private func context(_ recordName: String, _ field: String) -> [UInt8] {
        Array("\(container)\u{0}\(recordName)\u{0}\(field)".utf8)
    }

    private static var foreign: CloudFailure {
        CloudFailure(.accountTemporarilyUnavailable, "an encrypted value is damaged or forged; its page is not imported")
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
        func number(_ kind: SealedKind, _ bits: UInt64) -> [UInt8] { tagged(kind, (0..<8).map { UInt8(truncatingIfNeeded: bits >> ($0 * 8)) }) }
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
