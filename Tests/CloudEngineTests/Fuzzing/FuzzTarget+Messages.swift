// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Decoders of messages, on either side of a connection.
extension FuzzTarget {
    // MARK: Messages

    /// The first byte of an input is a position in this list: new messages are appended.
    private static let messages: [@Sendable ([UInt8]) -> String?] = [
        again(ModifyRecordsRequest.self), again(LookupRecordsRequest.self), again(QueryRecordsRequest.self),
        again(ZonesModifyRequest.self), again(ZonesLookupRequest.self), again(DatabaseChangesRequest.self),
        again(ZoneChangesRequest.self), again(RecordChangesRequest.self), again(ChangedZonesRequest.self),
        again(SubscriptionsModifyRequest.self), again(SubscriptionsLookupRequest.self), again(AssetUploadRequest.self),
        again(RereferenceAssetsRequest.self), again(ShortGUIDsRequest.self), again(DiscoverUsersRequest.self),
        again(LookupUsersRequest.self), again(PushTokenRequest.self), again(WebAuthTokenRequest.self),
        again(ModifyRecordsResponse.self), again(ZoneChangesResponse.self), again(DatabaseChangesResponse.self),
        again(QueryRecordsResponse.self), again(ZonesResponse.self), again(SubscriptionsResponse.self),
        again(ShortGUIDsResponse.self), again(AssetUploadResponse.self), again(RereferenceAssetsResponse.self),
        again(UserIdentitiesResponse.self), again(PushNotification.self), again(WireError.self),
        again(AccessRequestsResponse.self), again(AssetUploadReceipt.self), again(CallerIdentity.self),
        again(ChangedZonesResponse.self), again(LookupRecordsResponse.self), again(PushTokenResponse.self),
        again(PushedChanges.self), again(QuotaStatus.self), again(RecordChangesResponse.self), again(SnapshotOffer.self),
        again(UserDictionariesResponse.self), again(WebAuthTokenResponse.self), again(StoredChanges.self), again(RequestNote.self),
    ]

    static func request(_ bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        return messages[Int(first) % messages.count](Array(bytes.dropFirst()))
    }

    /// A decoded message is encoded, decoded again, and encoded alike.
    private static func again<Message: WireMessage>(_ type: Message.Type) -> @Sendable ([UInt8]) -> String? {
        { bytes in
            guard let message = try? Message(json: bytes) else { return nil }
            // Read before the numbers of a group are checked.
            _ = (message as? ModifyRecordsRequest)?.saveGroup?.isLast
            let written = message.encoded()
            guard let read = try? Message(json: written) else { return "\(type) cannot read what it wrote" }
            return read.encoded() == written ? nil : "\(type) writes something else the second time"
        }
    }

    // MARK: Push

    /// A stream has the same events in one piece and in pieces of any size. The first byte is the size of the pieces.
    static func push(_ bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let stream = Array(bytes.dropFirst()), size = Int(first) + 1
        let whole = events(in: stream, pieces: max(1, stream.count))
        // A failure hides the events before it in its piece.
        guard let whole else { return events(in: stream, pieces: size) == nil ? nil : "a stream in pieces of \(size) bytes does not fail" }
        return events(in: stream, pieces: size) == whole ? nil : "a stream in pieces of \(size) bytes has other events"
    }

    /// - Returns: The events; nil for a stream that is rejected.
    private static func events(in stream: [UInt8], pieces size: Int) -> [PushStreamEvent]? {
        var lines = PushLines(), events: [PushStreamEvent] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            guard let received = try? lines.receive(Array(stream[start..<min(stream.count, start + size)])) else { return nil }
            events += received
        }
        return events
    }

    // MARK: Snapshots

    /// The head of a frame, and its body, with the announced token.
    static func snapshot(_ bytes: [UInt8]) -> String? {
        if let head = SnapshotFrame.head(bytes[...]) {
            let written = SnapshotFrame.head(length: head.length, digest: head.digest)
            if written != Array(bytes.prefix(SnapshotFrame.headBytes)) { return "a head is another after it was written" }
        }
        let body = Array(bytes.dropFirst(SnapshotFrame.headBytes))
        _ = ZoneChangesResult.tokenIfMoreComing(json: body)
        _ = ZoneChangesResult.outlineIfMoreComing(json: body)
        guard let result = try? ZoneChangesResult(json: body) else { return nil }
        var token: String?, count: Int?
        if case .changes(let page) = result, page.moreComing { (token, count) = (page.syncToken, page.records.count) }
        let encoded = result.encoded()
        let outline = ZoneChangesResult.outlineIfMoreComing(json: encoded)
        if outline?.syncToken != token || outline?.recordCount != count { return "the outline of a body is of another page" }
        return ZoneChangesResult.tokenIfMoreComing(json: encoded) == token ? nil : "a body announces another token than it has"
    }
}
