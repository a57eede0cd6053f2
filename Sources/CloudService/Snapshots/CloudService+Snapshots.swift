// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import CloudWire
import SystemSupport

extension CloudService {
    /// How long a request waits for a snapshot that is being built, before it gets a change page.
    private static let buildWait = Duration.seconds(10)
    /// Changes since a snapshot from which on another one is built, if they are more than a quarter of its records as well.
    private static let changesBehindMax = 1000

    // MARK: Offers

    /// The response that offers a snapshot, for a request for one zone without a token; nil for the first change page.
    ///
    /// A failure does not fail the request: a change page follows, and reports its own.
    func snapshotOffer(_ request: ZoneChangesRequest, _ call: Call) async -> ZoneChangesResponse? {
        guard let snapshots, call.capabilities.contains(.snapshots), request.zones.count == 1, !request.numbersAsStrings else { return nil }
        await snapshots.load(serverIdentity: engine.serverIdentity)
        let (engine, query) = (engine, request.zones[0])
        guard let subject = try? await read(call, isBrief: true, { try engine.snapshotSubject(of: query, in: $0, call) }),
            let snapshot = await snapshot(of: subject, snapshots, call)
        else { return nil }
        snapshots.use(snapshot, at: call.now)
        return try? await read(call, isBrief: true) { try engine.page(offering: snapshot.offer, of: subject, in: $0, call) }
    }

    private func snapshot(of subject: SnapshotSubject, _ snapshots: ZoneSnapshots, _ call: Call) async -> StoredSnapshot? {
        let engine = engine
        var usable: StoredSnapshot?
        if let found = snapshots.snapshot(of: subject) {
            let most = max(Self.changesBehindMax, found.offer.recordCount / 4)
            let behind = try? await read(call, isBrief: true) {
                try engine.changes(since: found.offer.syncToken, of: subject, atMost: most + 1, in: $0)
            }
            if let behind, !snapshots.isTooOld(found, at: call.now) {
                if behind <= most { return found }
                usable = found
            } else {
                await snapshots.remove(found)
            }
        }
        snapshots.begin(subject, at: call.now) { try await self.build(subject, in: snapshots) }
        return await snapshots.waited(for: subject, atMost: Self.buildWait) ?? usable
    }

    /// Reads a zone into a file, a part at a time, in the background.
    private func build(_ subject: SnapshotSubject, in snapshots: ZoneSnapshots) async throws -> StoredSnapshot {
        let engine = engine
        let terms = WorkTerms(requester: "", milliseconds: nil, isBackground: true)
        let draft = try await snapshots.storage.draft(identifier: Hex.text(surroundings.randomBytes(16)))
        do {
            var change: Int64 = 0
            var end: Int64?
            var recordCount = 0
            while true {
                try Task.checkCancellation()
                let part = try await storage.read(subject.partition, terms) { [change, end] in
                    try engine.snapshotPart(of: subject, after: change, end: end, in: $0)
                }
                let bytes = try await draft.append(part.body)
                recordCount += part.recordCount
                guard await snapshots.makeRoom(forBytes: bytes, of: subject) else {
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

    /// Sends a snapshot, or a range of it.
    ///
    /// - Throws: `WireError` with `.notFound` for a snapshot that the caller may not read, or that was removed; `.throttled` while too many
    ///   are sent.
    func zoneSnapshot(_ exchange: Exchange) async throws -> ServiceResponse {
        let (engine, call) = (engine, exchange.call)
        let unknown = WireError(.notFound, "unknown snapshot: fetch the zone's changes again")
        guard let snapshots, let identifier = exchange.query["id"], SnapshotOffer.isIdentifier(identifier) else { throw unknown }
        await snapshots.load(serverIdentity: engine.serverIdentity)
        guard let snapshot = snapshots.snapshot(identifier: identifier) else { throw unknown }
        let isAllowed = { @Sendable () async throws -> Bool in
            try await self.read(call, isBrief: true) { try engine.mayRead(snapshot.subject, in: $0, call) }
        }
        guard !snapshots.isTooOld(snapshot, at: call.now), try await isAllowed() else { throw unknown }
        guard let file = try await snapshots.storage.open(identifier: identifier) else {
            await snapshots.remove(snapshot)
            throw unknown
        }
        guard snapshots.beginStream(of: call.requester) else {
            throw WireError(.throttled, "too many snapshots are being sent", retryAfter: 2)
        }
        let credential = exchange.credentials.reference(hash: accounts.sha256)
        let audience = audience(of: call)
        let reader = SnapshotReader(file, size: snapshot.offer.byteCount, snapshots, sender: call.requester) {
            guard let credential, await self.mayListen(audience, credential) else { return false }
            return (try? await isAllowed()) ?? false
        }
        snapshots.use(snapshot, at: call.now)
        return Self.response(reader, tag: identifier, range: exchange.range, endpoint: exchange.operation.rawValue)
    }

    private static func response(_ reader: SnapshotReader, tag: String, range: String?, endpoint: String) -> ServiceResponse {
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
        headers.append(("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(reader.size)"))
        return ServiceResponse(status: 206, headers: headers, body: .file(reader, part), endpoint: endpoint)
    }

    // MARK: Removal

    /// Removes snapshots that are too old, and those of deleted zones. The server calls it once a minute, and after the deletion of a zone
    /// or an account.
    ///
    /// - Parameter partition: Only its snapshots; nil for all.
    package func removeStaleSnapshots(of partition: Partition? = nil) async {
        guard let snapshots else { return }
        await snapshots.load(serverIdentity: engine.serverIdentity)
        let (engine, now) = (engine, surroundings.now())
        for snapshot in snapshots.all where partition == nil || snapshot.subject.partition == partition {
            let subject = snapshot.subject
            if !snapshots.isTooOld(snapshot, at: now) {
                // Without the database nothing is known of the zone.
                guard let exists = try? await storage.read(subject.partition, { try engine.exists(subject, in: $0) }), !exists else {
                    continue
                }
            }
            await snapshots.remove(snapshot)
        }
    }

    /// Ends the build in progress, before the storage closes.
    package func closeSnapshots() async { await snapshots?.close() }

    /// Waits until no snapshot is being built.
    package func snapshotsAreIdle() async { await snapshots?.idle() }

    package var snapshotCounts: SnapshotCounts? { snapshots?.counts }
}
