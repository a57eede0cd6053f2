// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import CloudWire
import SystemSupport

/// Snapshots of zones for new devices: offers, builds, reading and removal.
package struct SnapshotService: ServiceSubject {
    let core: ServiceCore
    /// Nil for a service that makes no snapshots.
    let snapshots: ZoneSnapshots?
    let revocations: Revocations

    /// How long a request waits for the next frame of a snapshot that is being built.
    private static let frameWait = Duration.seconds(10)
    /// Changes since a snapshot from which on another one is built, if they are more than a quarter of its records as well.
    private static let changesBehindMax = 1000

    // MARK: Offers

    /// The response that offers a snapshot, for a request for one zone without a token; nil for the first change page.
    ///
    /// A failure does not fail the request: a change page follows, and reports its own.
    func offer(for request: ZoneChangesRequest, _ call: Call) async -> ZoneChangesResponse? {
        guard let snapshots, call.capabilities.contains(.snapshots), request.zones.count == 1, !request.numbersAsStrings
        else { return nil }
        await snapshots.load(serverIdentity: engine.serverIdentity)
        let (engine, query) = (engine, request.zones[0])
        guard let subject = try? await core.read(call, isBrief: true, { try engine.snapshots.subject(of: query, in: $0, call) }),
            let offer = await offer(of: subject, snapshots, call)
        else { return nil }
        return try? await core.read(call, isBrief: true) { try engine.snapshots.page(offering: offer, of: subject, in: $0, call) }
    }

    private func offer(of subject: SnapshotSubject, _ snapshots: ZoneSnapshots, _ call: Call) async -> SnapshotOffer? {
        let engine = engine
        var usable: StoredSnapshot?
        if let found = snapshots.snapshot(of: subject) {
            let most = max(Self.changesBehindMax, found.whole.recordCount / 4)
            let behind = try? await core.read(call, isBrief: true) {
                try engine.snapshots.changes(since: found.whole.syncToken, of: subject, atMost: most + 1, in: $0)
            }
            if let behind, !snapshots.isTooOld(found, at: call.now) {
                snapshots.use(found, at: call.now)
                if behind <= most { return found.offer }
                usable = found
            } else {
                await snapshots.remove(found)
            }
        }
        let identifier = Hex.text(surroundings.randomBytes(16))
        snapshots.begin(subject, identifier: identifier, at: call.now) {
            try await self.build(subject, identifier: identifier, in: snapshots)
        }
        // A short build may have ended by now.
        return snapshots.building(subject).map { SnapshotOffer(identifier: $0) } ?? snapshots.snapshot(of: subject)?.offer ?? usable?.offer
    }

    /// Reads a zone into a file, a part at a time, in the background.
    private func build(_ subject: SnapshotSubject, identifier: String, in snapshots: ZoneSnapshots) async throws -> StoredSnapshot {
        let engine = engine
        let terms = WorkTerms(requester: "", milliseconds: nil, isBackground: true)
        let draft = try await snapshots.storage.draft(identifier: identifier)
        do {
            var change: Int64 = 0
            var end: Int64?
            var recordCount = 0
            while true {
                try Task.checkCancellation()
                let part = try await storage.read(subject.partition, terms) { [change, end] in
                    try engine.snapshots.part(of: subject, after: change, end: end, in: $0)
                }
                let bytes = try await draft.append(part.body)
                recordCount += part.recordCount
                snapshots.grow(subject, to: bytes)
                guard await snapshots.makeRoom(for: subject) else {
                    throw StorageFailure(.full, "the snapshot is larger than all snapshots may be")
                }
                (change, end) = (part.lastChange, part.end)
                guard part.isLast else { continue }
                return try await draft.finish(
                    subject, created: surroundings.now(), recordCount: recordCount, syncToken: part.syncToken,
                    serverIdentity: engine.serverIdentity)
            }
        } catch {
            await draft.discard()
            throw error
        }
    }

    // MARK: Reading

    /// Sends a snapshot, or a range of it. One that is being built is sent as far as it is, in ranges only.
    ///
    /// - Throws: `WireError` with `.notFound` for a snapshot that the caller may not read, or that was removed; `.throttled` while too many
    ///   are sent; `.tryAgainLater` if no frame was built for a while.
    func send(_ exchange: Exchange) async throws -> ServiceResponse {
        let (engine, call) = (engine, exchange.call)
        guard let snapshots, let identifier = exchange.query["id"], SnapshotOffer.isIdentifier(identifier) else {
            throw Self.unknownSnapshot
        }
        await snapshots.load(serverIdentity: engine.serverIdentity)
        let subject = snapshots.subject(ofBuild: identifier)
        guard let subject = subject ?? snapshots.snapshot(identifier: identifier)?.subject else { throw Self.unknownSnapshot }
        let isAllowed = { @Sendable () async throws -> Bool in
            try await core.read(call, isBrief: true) { try engine.snapshots.mayRead(subject, in: $0, call) }
        }
        guard try await isAllowed() else { throw Self.unknownSnapshot }
        let (size, isWhole) = try await size(ofSnapshot: identifier, subject, snapshots, exchange)
        guard let file = try await snapshots.storage.open(identifier: identifier) else {
            if let missing = snapshots.snapshot(identifier: identifier) { await snapshots.remove(missing) }
            throw Self.unknownSnapshot
        }
        guard snapshots.beginStream(of: call.requester) else {
            throw WireError(.throttled, "too many snapshots are being sent", retryAfter: 2)
        }
        let credential = exchange.credentials.reference(hash: accounts.sha256)
        let audience = PushAudience(of: call)
        let reader = SnapshotReader(file, size: size, snapshots, sender: call.requester) {
            guard let credential, await revocations.mayListen(audience, credential) else { return false }
            return (try? await isAllowed()) ?? false
        }
        return Self.response(
            reader, tag: identifier, range: exchange.range, total: isWhole ? "\(size)" : "*", endpoint: exchange.operation.rawValue)
    }

    private static let unknownSnapshot = WireError(.notFound, "unknown snapshot: fetch the zone's changes again")

    /// The bytes that a snapshot has, and whether they are all.
    private func size(
        ofSnapshot identifier: String, _ subject: SnapshotSubject, _ snapshots: ZoneSnapshots, _ exchange: Exchange
    ) async throws -> (size: Int64, isWhole: Bool) {
        if snapshots.subject(ofBuild: identifier) != nil {
            let offset = exchange.range.flatMap(ByteRange.start)
            let bytes = await snapshots.bytesBuilt(of: subject, beyond: offset ?? .max, atMost: Self.frameWait)
            if let bytes {
                guard let offset, bytes > offset else {
                    throw WireError(.tryAgainLater, "the snapshot is being built: read a range of it", retryAfter: 1)
                }
                return (bytes, false)
            }
        }
        guard let snapshot = snapshots.snapshot(identifier: identifier), !snapshots.isTooOld(snapshot, at: exchange.call.now) else {
            throw Self.unknownSnapshot
        }
        snapshots.use(snapshot, at: exchange.call.now)
        return (snapshot.whole.byteCount, true)
    }

    private static func response(_ reader: SnapshotReader, tag: String, range: String?, total: String, endpoint: String) -> ServiceResponse
    {
        var headers = [
            (name: HeaderNames.contentType, value: HeaderNames.bytes), (name: "Accept-Ranges", value: "bytes"),
            (name: "ETag", value: "\"\(tag)\""), (name: "Cache-Control", value: "no-store"),
        ]
        if let range, ByteRange.beginsBehind(range, size: reader.size) {
            headers.append(("Content-Range", "bytes */\(reader.size)"))
            return ServiceResponse(status: 416, headers: headers, body: .bytes([]), endpoint: endpoint)
        }
        guard let part = range.flatMap({ ByteRange.parse($0, size: reader.size) }) else {
            return ServiceResponse(headers: headers, body: .file(reader, 0..<reader.size), endpoint: endpoint)
        }
        headers.append(("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(total)"))
        return ServiceResponse(status: 206, headers: headers, body: .file(reader, part), endpoint: endpoint)
    }

    // MARK: Removal

    /// Removes snapshots that are too old, and those of deleted zones. The server calls it once a minute, and after the deletion of a zone
    /// or an account.
    ///
    /// - Parameter partition: Only its snapshots; nil for all.
    package func removeStale(of partition: Partition? = nil) async {
        guard let snapshots else { return }
        await snapshots.load(serverIdentity: engine.serverIdentity)
        let (engine, now) = (engine, surroundings.now())
        for snapshot in snapshots.all where partition == nil || snapshot.subject.partition == partition {
            let subject = snapshot.subject
            if !snapshots.isTooOld(snapshot, at: now) {
                // Without the database nothing is known of the zone.
                guard let exists = try? await storage.read(subject.partition, { try engine.snapshots.exists(subject, in: $0) }), !exists
                else {
                    continue
                }
            }
            await snapshots.remove(snapshot)
        }
    }

    /// Ends the builds in progress, before the storage closes.
    package func close() async { await snapshots?.close() }

    /// Waits until no snapshot is being built.
    package func idle() async { await snapshots?.idle() }

    package var counts: SnapshotCounts? { snapshots?.counts }
}
