// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore

/// The record in which two devices of a user exchange ``ApprovalMessage``s: one exchange at a time, in the default zone of the private
/// database. A later request takes the place of an earlier one.
struct ApprovalMailbox: Sendable {
    /// The record as the server returned it; nothing in it is trusted.
    struct Content: Sendable {
        var request: ApprovalMessage.Request
        var offer: ApprovalMessage.Offer?
        var reveal: ApprovalMessage.Reveal?
        /// The first part.
        var keys: [UInt8]?
        /// Whether there are keys of another form.
        var hasInvalidKeys = false
        /// The device with the keys refused.
        var isRefused = false
        fileprivate var record: Record
    }

    private typealias Name = MirrorNames.DeviceApprovalField

    let client: CloudDatabaseClient
    let makeName: @Sendable () -> String

    /// - Returns: Nil without an exchange, and for a record that none of these devices wrote.
    func read() async throws -> Content? {
        let response = try await client.lookupRecords(
            LookupRecordsRequest(records: [LookupRecordsRequest.Item(recordName: MirrorNames.deviceApproval)], zoneID: ZoneID.defaultZone))
        switch response.results[0] {
        case .record(let record): return Self.content(record)
        case .failure(_, let error, _) where error.code == .notFound || error.code == .zoneNotFound: return nil
        case .failure(_, let error, _): throw CloudFailure(error)
        }
    }

    private static func content(_ record: Record) -> Content? {
        func bytes(_ name: Name, _ counts: ClosedRange<Int>) -> [UInt8]? {
            guard case .bytes(let bytes)? = record.fields[name.rawValue]?.value, counts.contains(bytes.count) else { return nil }
            return bytes
        }
        func bytes(_ name: Name, _ count: Int) -> [UInt8]? { bytes(name, count...count) }
        guard !record.isDeleted, case .string(let deviceName)? = record.fields[Name.deviceName.rawValue]?.value,
            deviceName.utf8.count <= ApprovalMessage.nameBytesMax,
            case .timestamp(let time)? = record.fields[Name.requested.rawValue]?.value,
            let commitment = bytes(Name.commitment, ApprovalMessage.commitmentBytes)
        else { return nil }
        var content = Content(
            request: ApprovalMessage.Request(deviceName: deviceName, commitment: commitment, time: time), record: record)
        if let key = bytes(Name.offerKey, ApprovalMessage.publicKeyBytes), let nonce = bytes(Name.offerNonce, ApprovalMessage.nonceBytes) {
            content.offer = ApprovalMessage.Offer(publicKey: key, nonce: nonce)
        }
        if let key = bytes(Name.revealKey, ApprovalMessage.publicKeyBytes), let nonce = bytes(Name.revealNonce, ApprovalMessage.nonceBytes)
        {
            content.reveal = ApprovalMessage.Reveal(publicKey: key, nonce: nonce)
        }
        content.keys = bytes(Name.keys, 1...ApprovalMessage.keysBytesMax)
        content.hasInvalidKeys = content.keys == nil && record.fields[Name.keys.rawValue]?.value != nil
        if case .int64(1)? = record.fields[Name.refused.rawValue]?.value { content.isRefused = true }
        return content
    }

    func begin(_ request: ApprovalMessage.Request) async throws {
        var record = Record(recordName: MirrorNames.deviceApproval, recordType: MirrorNames.deviceApprovalType)
        record.fields = [
            Name.deviceName.rawValue: Field(.string(request.deviceName)), Name.requested.rawValue: Field(.timestamp(request.time)),
            Name.commitment.rawValue: Field(.bytes(request.commitment)),
        ]
        try await save(RecordOperation(.forceReplace, record))
    }

    func add(_ offer: ApprovalMessage.Offer, to content: Content) async throws {
        try await add([Name.offerKey: Field(.bytes(offer.publicKey)), Name.offerNonce: Field(.bytes(offer.nonce))], to: content)
    }

    func add(_ reveal: ApprovalMessage.Reveal, to content: Content) async throws {
        try await add([Name.revealKey: Field(.bytes(reveal.publicKey)), Name.revealNonce: Field(.bytes(reveal.nonce))], to: content)
    }

    func add(keys: [UInt8], to content: Content) async throws { try await add([Name.keys: Field(.bytes(keys))], to: content) }

    // MARK: Keys in several parts

    private static func name(ofPart number: Int) -> String { "\(MirrorNames.deviceApproval)-\(number)" }

    /// Stores a part of the keys behind the first one, which is added last: then all parts are there.
    ///
    /// - Parameter number: From 2.
    func save(_ part: [UInt8], number: Int) async throws {
        var record = Record(recordName: Self.name(ofPart: number), recordType: MirrorNames.deviceApprovalType)
        record.fields = [Name.keys.rawValue: Field(.bytes(part))]
        try await save(RecordOperation(.forceReplace, record))
    }

    /// - Returns: nil for a missing part.
    func part(number: Int) async throws -> [UInt8]? {
        let item = LookupRecordsRequest.Item(recordName: Self.name(ofPart: number))
        let response = try await client.lookupRecords(LookupRecordsRequest(records: [item], zoneID: ZoneID.defaultZone))
        switch response.results[0] {
        case .record(let record):
            guard !record.isDeleted, case .bytes(let bytes)? = record.fields[Name.keys.rawValue]?.value else { return nil }
            return bytes
        case .failure(_, let error, _) where error.code == .notFound: return nil
        case .failure(_, let error, _): throw CloudFailure(error)
        }
    }

    /// Deletes the parts behind the first one.
    func removeParts(count: Int) async throws {
        guard count > 1 else { return }
        for number in 2...count {
            let record = Record(recordName: Self.name(ofPart: number), recordType: MirrorNames.deviceApprovalType)
            try await save(RecordOperation(.forceDelete, record))
        }
    }

    func refuse(_ content: Content) async throws { try await add([Name.refused: Field(.int64(1))], to: content) }

    /// Deletes the exchange of a request. That of another request stays.
    func end(_ request: ApprovalMessage.Request) async throws {
        for _ in 0..<Self.attemptsToEnd {
            guard let content = try await read(), content.request == request else { return }
            if try await delete(content.record) { return }
        }
    }

    /// Each message of the other device is one that a deletion may not have seen.
    private static let attemptsToEnd = 3

    /// - Returns: `false` for a record that changed since it was read.
    private func delete(_ read: Record) async throws -> Bool {
        let record = Record(recordName: read.recordName, recordType: read.recordType, recordChangeTag: read.recordChangeTag)
        do {
            try await save(RecordOperation(.delete, record))
            return true
        } catch let failure as CloudFailure where failure.code == .serverRecordChanged {
            return false
        } catch let failure as CloudFailure where failure.code == .unknownItem {
            return true
        }
    }

    /// The update needs the change tag of `content`: a concurrent message is never overwritten.
    private func add(_ fields: [Name: Field], to content: Content) async throws {
        var record = content.record
        record.fields = Dictionary(uniqueKeysWithValues: fields.map { ($0.key.rawValue, $0.value) })
        try await save(RecordOperation(.update, record))
    }

    private func save(_ operation: RecordOperation) async throws {
        let response = try await client.modifyRecords(
            ModifyRecordsRequest(operations: [operation], zoneID: ZoneID.defaultZone), idempotencyKey: makeName())
        for case .failure(_, let error, _) in response.results { throw CloudFailure(error) }
    }
}
