// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Crypto
import Foundation
import ManagedModel
import MirroringCore
import SystemSupport

/// Encrypts fields before they are sent and decrypts them when they arrive: AES-GCM with 256-bit keys and a random nonce for each value.
///
///     1 byte      8 bytes   8 bytes   12 bytes   n bytes            16 bytes
///     version 3   key id    number    nonce      kind and value     tag
///
/// The associated data are the header and the value's ``Place``: a value cannot be moved, and its number cannot be changed. A record's
/// values of one field are numbered: see ``FieldStates``. An absent value is encrypted as well, and one that is in an asset as the
/// asset's checksum, so that the server can neither leave a value out nor return an older asset.
///
/// Version 1 has no number, and container, record and field as associated data. It is decrypted, and not written any more. Long content is
/// encrypted in pieces, in another format: see ``SealedPieces``.
///
/// The server stores bytes. The code above works on decrypted records: this device compares, merges and stores the values of its rows.
struct RecordSealer: Sendable {
    /// Where a value belongs.
    struct Place: Hashable, Sendable {
        var environment: String
        /// The name of the zone. Its owner and participants have different names of the owner.
        var zone: String
        /// The owner of another user's zone, whose keys this device uses there; nil for zones of this user. Values do not name it.
        var owner: String?

        init(environment: CloudEnvironment, zone: ZoneID, owner: String? = nil) {
            self.environment = environment.rawValue
            self.zone = zone.zoneName
            self.owner = owner
        }
    }

    let keys: EncryptionKeyRing
    let container: String

    static let version: UInt8 = 3
    private static let firstVersion: UInt8 = 1
    private static let keyBytes = 1 + EncryptionKeyRing.KeyID.byteCount
    private static let numberBytes = 8
    private static let nonceBytes = 12
    private static let tagBytes = 16

    // MARK: Records

    /// Returns a record as it is sent. Assets are encrypted when they are uploaded.
    ///
    /// - Parameter versions: The numbers of the values to encrypt, by inline field.
    func sealed(_ record: Record, versions: [String: UInt64], in place: Place) throws -> Record {
        var sealed = record
        for (name, number) in versions {
            let content: SealedContent
            if let value = record.fields[name]?.value {
                content = .value(value)
            } else if case .asset(let asset)? = record.fields[name + MirrorNames.assetSuffix]?.value {
                content = .asset(checksum: asset.fileChecksum)
            } else {
                content = .absent
            }
            sealed.fields[name] = try field(content, number, of: record.recordName, name, in: place)
        }
        // Values of a newer version of the model, which go with an object to another zone.
        for (name, field) in record.fields where field.isEncrypted && versions[name] == nil {
            if let value = field.value { sealed.fields[name] = try self.field(.value(value), 1, of: record.recordName, name, in: place) }
        }
        return sealed
    }

    private func field(_ content: SealedContent, _ number: UInt64, of recordName: String, _ name: String, in place: Place) throws -> Field {
        Field(.bytes(try seal(content.bytes, number: number, of: recordName, name, in: place)), isEncrypted: true)
    }

    /// Returns a received record with decrypted values. Its ``Record/encryption`` has their numbers, and the reasons of those that do not
    /// open; these are taken out.
    ///
    /// - Throws: `CloudFailure` for keys that cannot be read.
    func opened(_ received: Record, _ mapping: RecordMapping, in place: Place) throws -> Record {
        guard let entity = mapping.entity(of: received) else { return received }
        var record = received
        record.fieldStates = FieldStates()
        guard entity.hasEncryptedFields || record.fields.values.contains(where: \.isEncrypted) else { return record }
        var found = FieldStates()
        var known: Set<String> = []
        for property in entity.properties where property.isEncrypted {
            let name = property.fieldName
            known.insert(name)
            guard let value = record.fields[name]?.value else { continue }
            found[name] = try open(value, name, of: &record, assetField: property.assetFieldName, in: place)
        }
        // Fields of a newer version of the model. They are encrypted again if the object goes to another zone.
        for (name, field) in received.fields where field.isEncrypted && !known.contains(name) {
            guard case .bytes(let sealed)? = field.value else { continue }
            record.fields[name] = nil
            switch try open(sealed, of: record.recordName, name, in: place) {
            case .opened(let bytes, _, _):
                if case .value(let value)? = SealedContent(bytes) { record.fields[name] = Field(value, isEncrypted: true) }
            case .unreadable(.missingKey(let key)):
                // A copy of the record without the field would lose it.
                if FieldStates.isName(name) { found[name] = FieldStates.Entry(version: 0, problem: .missingKey(key)) }
            case .unreadable: break
            }
        }
        record.fieldStates = found
        return record
    }

    private func open(
        _ value: FieldValue, _ name: String, of record: inout Record, assetField: String?, in place: Place
    ) throws -> FieldStates.Entry {
        func quarantine(_ reason: UnreadableReason, _ number: UInt64 = 0) -> FieldStates.Entry {
            record.fields[name] = nil
            if let assetField { record.fields[assetField] = nil }
            return FieldStates.Entry(version: number, problem: reason)
        }
        guard case .bytes(let sealed) = value else { return quarantine(.damaged) }
        switch try open(sealed, of: record.recordName, name, in: place) {
        case .unreadable(.missingKey(let key)): return quarantine(.missingKey(key), Self.number(sealed))
        case .unreadable(let reason): return quarantine(reason)
        case .opened(let bytes, let number, let tag):
            switch SealedContent(bytes) {
            case nil: return quarantine(.damaged, number)
            case .value(let value):
                record.fields[name] = Field(value, isEncrypted: true)
                if number > 0, let assetField { record.fields[assetField] = nil }
            case .absent:
                record.fields[name] = nil
                if let assetField { record.fields[assetField] = nil }
            case .asset(let checksum):
                record.fields[name] = nil
                guard let assetField, case .asset(let asset)? = record.fields[assetField]?.value, asset.fileChecksum == checksum else {
                    return quarantine(.stale, number)
                }
            }
            return FieldStates.Entry(version: number, tag: tag)
        }
    }

    // MARK: Bytes

    enum Opening: Sendable {
        /// - Parameters:
        ///   - number: 0 for a value of version 1.
        ///   - tag: A part of the authentication tag, in hexadecimal digits.
        case opened([UInt8], number: UInt64, tag: String)
        case unreadable(UnreadableReason)
    }

    func seal(_ bytes: [UInt8], number: UInt64, of recordName: String, _ field: String, in place: Place) throws -> [UInt8] {
        let (id, key) = try keys.sealingKey(in: place.zone, of: place.owner)
        let header = [Self.version] + id.bytes + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        let box = try AES.GCM.seal(bytes, using: key, authenticating: context("tarn value 3", recordName, field, place) + header)
        return header + Array(box.nonce) + box.ciphertext + box.tag
    }

    /// - Throws: `CloudFailure` for keys that cannot be read.
    func open(_ sealed: [UInt8], of recordName: String, _ field: String, in place: Place) throws -> Opening {
        if SealedPieces.versions.contains(sealed.first ?? 0) {
            var opened: [UInt8] = []
            if let reason = try openPieces(Data(sealed), of: recordName, field, in: place, { opened += $0 }) { return .unreadable(reason) }
            return .opened(opened, number: 0, tag: "")
        }
        let isNumbered = sealed.first == Self.version
        let headerBytes = Self.keyBytes + (isNumbered ? Self.numberBytes : 0)
        guard sealed.count >= headerBytes + Self.nonceBytes + Self.tagBytes, isNumbered || sealed[0] == Self.firstVersion else {
            return .unreadable(.damaged)
        }
        let id = EncryptionKeyRing.KeyID(bytes: Array(sealed[1..<Self.keyBytes]))
        let key: SymmetricKey
        switch try keys.key(id, in: place.zone, of: place.owner) {
        case .key(let found): key = found
        case .ofAnotherZone: return .unreadable(.damaged)
        case .missing: return .unreadable(.missingKey(id.text))
        }
        let context =
            isNumbered ? self.context("tarn value 3", recordName, field, place) + sealed[..<headerBytes] : firstContext(recordName, field)
        guard let box = try? AES.GCM.SealedBox(combined: sealed[headerBytes...]),
            let opened = try? AES.GCM.open(box, using: key, authenticating: context)
        else { return .unreadable(.damaged) }
        return .opened(Array(opened), number: Self.number(sealed), tag: Hex.text(sealed.suffix(8)))
    }

    /// The number in the header of a value; 0 for the formats without numbers.
    private static func number(_ sealed: [UInt8]) -> UInt64 {
        let headerBytes = keyBytes + numberBytes
        guard sealed.first == version, sealed.count >= headerBytes else { return 0 }
        return sealed[keyBytes..<headerBytes].reduce(0) { $0 << 8 | UInt64($1) }
    }

    // MARK: Pieces

    /// Encrypts long content in pieces.
    func sealPieces(of content: LongValue, of recordName: String, _ field: String, in place: Place, _ write: ([UInt8]) throws -> Void)
        throws
    {
        let (id, key) = try keys.sealingKey(in: place.zone, of: place.owner)
        let pieces = try SealedPieces(id, key, context: context("tarn pieces 4", recordName, field, place), byteCount: content.byteCount)
        try write(pieces.header)
        var number: UInt64 = 0
        try content.forEachPiece(of: SealedPieces.pieceBytes) { piece in
            try write(try pieces.sealed(piece, number))
            number += 1
        }
        if number == 0 { try write(try pieces.sealed(UnsafeRawBufferPointer(start: nil, count: 0), 0)) }
    }

    private struct DamagedPiece: Error {}

    /// - Parameter sealed: May be a mapped file.
    /// - Returns: Why the content does not open; nil if it does.
    /// - Throws: `CloudFailure` for keys that cannot be read, or the error of writing.
    func openPieces(
        _ sealed: Data, of recordName: String, _ field: String, in place: Place, _ write: (Data) throws -> Void
    ) throws -> UnreadableReason? {
        guard let header = SealedPieces.Header(sealed) else { return .damaged }
        let key: SymmetricKey
        switch try keys.key(header.keyID, in: place.zone, of: place.owner) {
        case .key(let found): key = found
        case .ofAnotherZone: return .damaged
        case .missing: return .missingKey(header.keyID.text)
        }
        let context =
            header.version == SealedPieces.firstVersion
            ? Array("tarn pieces 2\u{0}".utf8) + firstContext(recordName, field) : self.context("tarn pieces 4", recordName, field, place)
        let pieces = SealedPieces(header, key, context: context, sealedBytes: sealed.count)
        var number: UInt64 = 0
        do {
            try MappedFile.forEachPiece(of: sealed.dropFirst(SealedPieces.headerBytes), length: SealedPieces.sealedPieceBytes) { piece in
                guard let opened = pieces.opened(piece, number) else { throw DamagedPiece() }
                try write(opened)
                number += 1
            }
        } catch is DamagedPiece {
            return .damaged
        }
        return number == pieces.count ? nil : .damaged
    }

    // MARK: Associated data

    private func context(_ purpose: String, _ recordName: String, _ field: String, _ place: Place) -> [UInt8] {
        Array([purpose, container, place.environment, place.zone, recordName, field, ""].joined(separator: "\u{0}").utf8)
    }

    /// That of versions 1 and 2.
    private func firstContext(_ recordName: String, _ field: String) -> [UInt8] {
        Array("\(container)\u{0}\(recordName)\u{0}\(field)".utf8)
    }
}
