// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import CloudWire
import Crypto
import Foundation
import ServiceFixtures
import StorageFixtures
import TestBasics
import Testing

/// Snapshots of zones, as a client without a token reads them.
@Suite struct SnapshotTests {
    private static func limits(_ change: (inout Limits) -> Void = { _ in }) -> Limits {
        var limits = Limits()
        limits.snapshotRecordsMin = 10
        limits.recordsPerLargePage = 10
        change(&limits)
        return limits
    }

    private struct Read {
        var records: [Record] = []
        /// Of the frames.
        var tokens: [String] = []
        /// Offsets behind the frames.
        var ends: [Int] = []
    }

    private static func village(_ kind: ServerKind, _ change: (inout Limits) -> Void = { _ in }) throws -> Village {
        try Village(limits: limits(change), place: ServerPlace(kind), hasSnapshots: true)
    }

    private static func plant(_ count: Int, _ villager: Village.Villager) async throws {
        try await villager.modify((0..<count).map { RecordOperation(.create, .plant("p\($0)")) })
    }

    // MARK: Requests

    private static func changes(
        _ villager: Village.Villager, since token: String? = nil, _ capabilities: Set<Capability> = [.snapshots, .largePages]
    ) async throws -> ZoneChanges {
        let query = ZoneChangesQuery(zoneID: villager.zone(), syncToken: token)
        let answer = try await villager.ask(
            .private, .zoneChanges, ZoneChangesRequest(zones: [query]), ZoneChangesResponse.self, capabilities: capabilities)
        switch answer.zones[0] {
        case .changes(let changes): return changes
        case .failure(_, let error): throw error
        }
    }

    private static func offer(_ villager: Village.Villager) async throws -> SnapshotOffer {
        let offer = try #require(try await changes(villager).snapshot)
        if offer.whole != nil { return offer }
        await villager.village.service.snapshots.idle()
        return try #require(try await changes(villager).snapshot)
    }

    private static func response(
        _ identifier: String, _ villager: Village.Villager, range: String? = nil, in scope: DatabaseScope = .private
    ) async -> ServiceResponse {
        var headers = ["authorization": "Bearer \(villager.token)"]
        headers["range"] = range
        let path = ServicePath(
            containerIdentifier: Village.container, environment: .development, scope: scope, operation: .zoneSnapshot)
        return await villager.village.service.respond(
            to: ServiceRequest(
                method: "GET", path: path.path, query: "id=\(identifier)", headers: RequestHeaders(headers), baseURL: "http://tarn.example")
        )
    }

    private static func bytes(_ response: ServiceResponse) async throws -> [UInt8] {
        switch response.body {
        case .bytes(let bytes): return bytes
        case .file(let file, let range):
            var bytes: [UInt8] = []
            while bytes.count < range.count {
                let piece = try await file.read(at: range.lowerBound + Int64(bytes.count), count: range.count - bytes.count)
                try #require(!piece.isEmpty)
                bytes += piece
            }
            return bytes
        case .events: return []
        }
    }

    private static func code(_ identifier: String, _ villager: Village.Villager, in scope: DatabaseScope = .private) async throws -> String
    {
        let response = await response(identifier, villager, in: scope)
        guard response.status != 200 else { return "OK" }
        return try WireError(json: try await bytes(response)).code.rawValue
    }

    /// Reads frames as a client does, and checks lengths and digests.
    private static func read(_ offer: SnapshotOffer, _ villager: Village.Villager) async throws -> Read {
        let whole = try #require(offer.whole)
        let response = await response(offer.identifier, villager)
        try #require(response.status == 200)
        let bytes = try await bytes(response)
        #expect(bytes.count == Int(whole.byteCount))
        var read = Read()
        var digest = SnapshotFrame.firstDigest
        var rest = bytes[...]
        while !rest.isEmpty {
            let head = try #require(SnapshotFrame.head(rest))
            let body = Array(rest.dropFirst(SnapshotFrame.headBytes).prefix(head.length))
            digest = Array(SHA256.hash(data: digest + body))
            #expect(digest == head.digest)
            guard case .changes(let changes) = try ZoneChangesResult(json: body) else { throw WireError(.internalError, "no changes") }
            #expect(changes.moreComing == (rest.count > SnapshotFrame.headBytes + head.length))
            read.records += changes.records
            read.tokens.append(changes.syncToken)
            rest = rest.dropFirst(SnapshotFrame.headBytes + head.length)
            read.ends.append(bytes.count - rest.count)
        }
        #expect(digest == whole.digest)
        #expect(read.tokens.last == whole.syncToken)
        #expect(read.records.count == whole.recordCount)
        return read
    }

    /// All changes behind a token, by change pages.
    private static func feed(_ villager: Village.Villager, since token: String?) async throws -> [Record] {
        var records: [Record] = []
        var token = token
        while true {
            let page = try await changes(villager, since: token, [.largePages])
            records += page.records
            token = page.syncToken
            if !page.moreComing { return records }
        }
    }

    private static func files(_ village: Village) -> [String] {
        let path = "\(village.folder.path)/snapshots/0"
        return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter { $0 != "lock" }.sorted()
    }

    // MARK: Content

    @Test(arguments: ServerKind.installed)
    func aSnapshotHasTheRecordsOfTheChangePages(_ kind: ServerKind) async throws {
        let village = try Self.village(kind)
        let mia = try await village.villager("mia")
        try await Self.plant(35, mia)
        try await mia.modify([RecordOperation(.forceDelete, .plant("p3")), RecordOperation(.forceUpdate, .plant("p4"))])
        let offer = try await Self.offer(mia)
        let read = try await Self.read(offer, mia)
        let pages = try await Self.feed(mia, since: nil)
        // Pages behind the first one list deletions.
        #expect(read.records == pages.filter { !$0.isDeleted })
        #expect(read.records.count == 34)
        #expect(read.tokens.count == 4)
        #expect(try await Self.feed(mia, since: offer.whole?.syncToken).isEmpty)
        #expect(village.service.snapshots.counts?.built == 1)
        #expect(village.service.snapshots.counts?.servedBytes == offer.whole?.byteCount)
    }

    /// Change pages continue behind any frame: a client that cannot read the rest needs nothing else.
    @Test func theFeedContinuesBehindEachFrame() async throws {
        let village = try Self.village(.sqlite)
        let mia = try await village.villager("mia")
        try await Self.plant(25, mia)
        let read = try await Self.read(try await Self.offer(mia), mia)
        #expect(read.tokens.count == 3)
        for (index, token) in read.tokens.enumerated() {
            let rest = try await Self.feed(mia, since: token)
            #expect(Array(read.records.prefix(10 * (index + 1))) + rest == read.records)
        }
    }

    @Test(arguments: ServerKind.installed)
    func changesAfterTheSnapshotAreInTheFeed(_ kind: ServerKind) async throws {
        let village = try Self.village(kind)
        let mia = try await village.villager("mia")
        try await Self.plant(20, mia)
        let offer = try await Self.offer(mia)
        try await mia.modify([
            RecordOperation(.forceUpdate, .plant("p1")), RecordOperation(.forceDelete, .plant("p2")), RecordOperation(.create, .plant("q")),
        ])
        #expect(try await Self.offer(mia) == offer)
        #expect(try await Self.read(offer, mia).records.count == 20)
        let feed = try await Self.feed(mia, since: offer.whole?.syncToken)
        #expect(feed.map { ($0.isDeleted ? "-" : "+") + $0.recordName }.sorted() == ["+p1", "+q", "-p2"])
    }

    /// Frames are sent while later ones are built: a client has all of them, whichever way it asks.
    @Test(arguments: ServerKind.installed)
    func aSnapshotIsReadWhileItIsBuilt(_ kind: ServerKind) async throws {
        let village = try Self.village(kind)
        let mia = try await village.villager("mia")
        for start in stride(from: 0, to: 800, by: 400) {
            try await mia.modify((start..<start + 400).map { RecordOperation(.create, .plant("p\($0)")) })
        }
        let begun = try #require(try await Self.changes(mia).snapshot)
        #expect(begun.whole == nil)
        var bytes: [UInt8] = []
        while true {
            let response = await Self.response(begun.identifier, mia, range: "bytes=\(bytes.count)-")
            // The end was not known when the last frame was sent.
            if response.status == 416 { break }
            try #require(response.status == 206)
            bytes += try await Self.bytes(response)
        }
        let offer = try await Self.offer(mia)
        #expect(offer.identifier == begun.identifier)
        let whole = await Self.response(offer.identifier, mia)
        #expect(try await Self.bytes(whole) == bytes)
        #expect(try await Self.read(offer, mia).records.count == 800)
    }

    /// A record that is saved while the parts are read is in none or an earlier one, and in the feed.
    @Test func recordsThatChangeDuringTheBuildAreInTheFeed() async throws {
        let village = try Self.village(.sqlite)
        let mia = try await village.villager("mia")
        try await Self.plant(30, mia)
        let partition = Partition(containerIdentifier: Village.container, environment: .development, owner: mia.name)
        let engine = village.service.engine
        let zone = try #require(try await village.store.read(partition) { try $0.zone(named: Village.garden) })
        let subject = SnapshotSubject(
            partition: partition, zoneName: zone.name, zoneKey: zone.key,
            epoch: try await village.store.read(partition) { try $0.state().epoch })
        let first = try await village.store.read(partition) { try engine.snapshots.part(of: subject, after: 0, end: nil, in: $0) }
        try await mia.modify([
            RecordOperation(.forceUpdate, .plant("p15")), RecordOperation(.forceDelete, .plant("p1")),
            RecordOperation(.forceDelete, .plant("p16")),
        ])
        var parts = [first]
        while let last = parts.last, !last.isLast {
            parts.append(
                try await village.store.read(partition) {
                    try engine.snapshots.part(of: subject, after: last.lastChange, end: last.end, in: $0)
                })
        }
        var names: Set<String> = []
        for part in parts {
            guard case .changes(let changes) = try ZoneChangesResult(json: part.body) else { continue }
            names.formUnion(changes.records.map(\.recordName))
        }
        #expect(names.contains("p1"))
        #expect(names.isDisjoint(with: ["p15", "p16"]))
        for record in try await Self.feed(mia, since: parts.last?.syncToken) {
            if record.isDeleted { names.remove(record.recordName) } else { names.insert(record.recordName) }
        }
        #expect(names == Set((0..<30).map { "p\($0)" }).subtracting(["p1", "p16"]))
    }

    @Test func aRangeBeginsAtAFrameAndNoneBeginsBehindTheEnd() async throws {
        let village = try Self.village(.sqlite)
        let mia = try await village.villager("mia")
        try await Self.plant(25, mia)
        let offer = try await Self.offer(mia)
        let read = try await Self.read(offer, mia)
        let whole = try await Self.bytes(await Self.response(offer.identifier, mia))
        let size = offer.whole?.byteCount ?? 0
        for end in read.ends.dropLast() {
            let part = await Self.response(offer.identifier, mia, range: "bytes=\(end)-")
            #expect(part.status == 206)
            #expect(try await Self.bytes(part) == Array(whole[end...]))
        }
        #expect(await Self.response(offer.identifier, mia, range: "bytes=\(size)-").status == 416)
        let few = await Self.response(offer.identifier, mia, range: "bytes=0-3")
        #expect(few.headers.first { $0.name == "Content-Range" }?.value == "bytes 0-3/\(size)")
    }

    // MARK: Zones without a snapshot

    @Test func smallZonesClientsWithoutTheCapabilityAndOtherRequestsGetPages() async throws {
        let village = try Self.village(.sqlite)
        let mia = try await village.villager("mia")
        try await Self.plant(9, mia)
        #expect(try await Self.changes(mia).snapshot == nil)
        #expect(try await Self.changes(mia).records.count == 9)
        try await mia.modify([RecordOperation(.create, .plant("tenth"))])
        #expect(try await Self.changes(mia, [.largePages]).snapshot == nil)
        let token = try await Self.changes(mia, [.largePages]).syncToken
        #expect(try await Self.changes(mia, since: token).snapshot == nil)
        var query = ZoneChangesQuery(zoneID: mia.zone())
        query.desiredKeys = []
        let answer = try await mia.ask(
            .private, .zoneChanges, ZoneChangesRequest(zones: [query]), ZoneChangesResponse.self, capabilities: [.snapshots])
        guard case .changes(let page) = answer.zones[0] else { throw WireError(.internalError, "no page") }
        #expect(page.snapshot == nil)
        #expect(Self.files(village).isEmpty)
        #expect(try await Self.changes(mia).snapshot != nil)
        await village.service.snapshots.idle()
    }

    /// Not to other users, not to participants, not to the owner while the zone is shared.
    @Test(arguments: ServerKind.installed)
    func onlyTheOwnerOfAnUnsharedZoneReadsASnapshot(_ kind: ServerKind) async throws {
        let village = try Self.village(kind)
        let mia = try await village.villager("mia")
        let bo = try await village.villager("bo")
        try await Self.plant(20, mia)
        let offer = try await Self.offer(mia)
        #expect(try await Self.code(offer.identifier, mia) == "OK")
        #expect(try await Self.code(offer.identifier, bo) == "NOT_FOUND")
        try await mia.modify([RecordOperation(.create, .share("share", of: "p1", with: [.invited("bo")]))])
        let guid = try #require(try await mia.lookup("share")[0].record?.sharing.shortGUID)
        _ = try await bo.accept(guid)
        #expect(try await Self.code(offer.identifier, bo) == "NOT_FOUND")
        #expect(try await Self.code(offer.identifier, bo, in: .shared) == "BAD_REQUEST")
        #expect(try await Self.code(offer.identifier, mia) == "NOT_FOUND")
        #expect(try await Self.changes(mia).snapshot == nil)
        let query = ZoneChangesQuery(zoneID: bo.zone(mia))
        let answer = try await bo.ask(
            .shared, .zoneChanges, ZoneChangesRequest(zones: [query]), ZoneChangesResponse.self, capabilities: [.snapshots])
        guard case .changes(let page) = answer.zones[0] else { throw WireError(.internalError, "no page") }
        #expect(page.snapshot == nil)
    }

    @Test func aRevokedDeviceReadsNoSnapshot() async throws {
        let village = try Self.village(.sqlite)
        let mia = try await village.villager("mia")
        try await Self.plant(20, mia)
        let offer = try await Self.offer(mia)
        try await village.store.removeDevice(labelled: "tablet", ofUser: "mia")
        #expect(try await Self.code(offer.identifier, mia) == "AUTHENTICATION_FAILED")
    }

    // MARK: Lifetime

    @Test func aSnapshotThatIsFarBehindIsBuiltAnew() async throws {
        let village = try Self.village(.sqlite)
        let mia = try await village.villager("mia")
        try await Self.plant(20, mia)
        let first = try await Self.offer(mia)
        for start in stride(from: 0, to: 1200, by: 300) {
            try await mia.modify((start..<start + 300).map { RecordOperation(.create, .plant("q\($0)")) })
        }
        // A build of the zone began a moment ago: the old snapshot is still right.
        #expect(try await Self.offer(mia) == first)
        village.clock.advance(seconds: 61)
        #expect(try await Self.changes(mia).snapshot?.identifier != first.identifier)
        let second = try await Self.offer(mia)
        #expect(second.whole?.recordCount == 1220)
        #expect(Self.files(village) == ["\(second.identifier).snapshot"])
        #expect(try await Self.code(first.identifier, mia) == "NOT_FOUND")
    }

    @Test func anOldSnapshotIsRemoved() async throws {
        let village = try Self.village(.sqlite) { $0.snapshotSeconds = 3600 }
        let mia = try await village.villager("mia")
        try await Self.plant(20, mia)
        let offer = try await Self.offer(mia)
        village.clock.advance(seconds: 3599)
        await village.service.snapshots.removeStale()
        #expect(try await Self.code(offer.identifier, mia) == "OK")
        village.clock.advance(seconds: 1)
        #expect(try await Self.code(offer.identifier, mia) == "NOT_FOUND")
        await village.service.snapshots.removeStale()
        #expect(Self.files(village).isEmpty)
    }

    @Test(arguments: ServerKind.installed)
    func aDeletedZoneTakesItsSnapshotAlong(_ kind: ServerKind) async throws {
        let village = try Self.village(kind)
        let mia = try await village.villager("mia")
        try await Self.plant(20, mia)
        let offer = try await Self.offer(mia)
        for operation in [ZoneOperation.delete(mia.zone()), .create(mia.zone())] {
            _ = try await mia.ask(.private, .modifyZones, ZonesModifyRequest(operations: [operation]), ZonesResponse.self)
            #expect(Self.files(village).isEmpty)
        }
        #expect(try await Self.code(offer.identifier, mia) == "NOT_FOUND")
        #expect(try await Self.changes(mia).records.isEmpty)
    }

    @Test(arguments: ServerKind.installed)
    func anotherHistoryTakesSnapshotsAlong(_ kind: ServerKind) async throws {
        let village = try Self.village(kind)
        let mia = try await village.villager("mia")
        try await Self.plant(20, mia)
        let offer = try await Self.offer(mia)
        try await village.store.erase(containerIdentifier: Village.container, environment: .development)
        #expect(try await Self.code(offer.identifier, mia) == "NOT_FOUND")
        await village.service.snapshots.removeStale()
        #expect(Self.files(village).isEmpty)
    }

    @Test(arguments: ServerKind.installed)
    func nothingOfARemovedUserRemains(_ kind: ServerKind) async throws {
        let village = try Self.village(kind)
        let mia = try await village.villager("mia")
        let bo = try await village.villager("bo")
        for villager in [mia, bo] {
            try await Self.plant(20, villager)
            _ = try await Self.offer(villager)
        }
        #expect(Self.files(village).count == 2)
        try await village.service.userRemoval.run(named: "mia", publicRecords: .remove, storage: village.store)
        #expect(Self.files(village).count == 1)
        for file in Self.files(village) {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(village.folder.path)/snapshots/0/\(file)"))
            #expect(bytes.range(of: Data(mia.name.utf8)) == nil)
        }
        // As the command does, in a process of its own.
        SnapshotFolder.removeAll(data: village.folder.path)
        #expect(Self.files(village).isEmpty)
        let offer = try await Self.offer(bo)
        #expect(try await Self.code(offer.identifier, bo) == "NOT_FOUND")
        #expect(try await Self.changes(bo).snapshot == nil, "a build began a moment ago")
    }

    // MARK: Restarts

    /// A process that was killed leaves a partial file, and complete ones for the next process.
    @Test func aRestartKeepsCompleteSnapshotsAndRemovesPartialOnes() async throws {
        let place = try ServerPlace(.sqlite)
        let folder = "\(place.folder.path)/snapshots/0"
        var offer: SnapshotOffer?
        var token = ""
        do {
            let village = try Village(limits: Self.limits(), place: place, hasSnapshots: true)
            let mia = try await village.villager("mia")
            token = mia.token
            try await Self.plant(20, mia)
            offer = try await Self.offer(mia)
            try village.store.close()
        }
        let identifier = String(repeating: "a", count: 32), other = String(repeating: "b", count: 32)
        let whole = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(try #require(offer).identifier).snapshot"))
        try whole.prefix(100).write(to: URL(fileURLWithPath: "\(folder)/\(identifier).partial"))
        try whole.dropLast(10).write(to: URL(fileURLWithPath: "\(folder)/\(other).snapshot"))
        let village = try Village(limits: Self.limits(), place: place, hasSnapshots: true)
        let mia = Village.Villager(village: village, account: "mia", token: token, name: "")
        #expect(try await Self.offer(mia) == offer)
        #expect(try await Self.read(try #require(offer), mia).records.count == 20)
        #expect(Self.files(village) == ["\(try #require(offer).identifier).snapshot"])
        #expect(village.service.snapshots.counts?.built == 0)
    }

    @Test func processesOnOneFolderHaveFoldersOfTheirOwn() async throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        var first: SnapshotFolder? = try SnapshotFolder(data: folder.path)
        let second = try SnapshotFolder(data: folder.path)
        if let first { try await Self.store("a", in: first) }
        try await Self.store("b", in: second)
        #expect(try await first?.snapshots().count == 1)
        #expect(try await second.snapshots().count == 1)
        weak let ended = first
        first = nil
        // The thread of the last call may release it a moment later.
        while ended != nil { await Task.yield() }
        // The first number is free again, and its snapshots go on with it.
        let third = try SnapshotFolder(data: folder.path)
        #expect(try await third.snapshots().map(\.offer.identifier) == [String(repeating: "a", count: 32)])
    }

    /// A process that starts with others empties the folders of those that ended.
    @Test func foldersOfEndedProcessesAreEmptied() async throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let first = try SnapshotFolder(data: folder.path)
        var second: SnapshotFolder? = try SnapshotFolder(data: folder.path)
        if let second { try await Self.store("b", in: second) }
        second = nil
        try FileManager.default.createDirectory(atPath: "\(folder.path)/snapshots/7", withIntermediateDirectories: true)
        let old = "\(folder.path)/snapshots/7/\(String(repeating: "c", count: 32)).snapshot"
        try Data([1]).write(to: URL(fileURLWithPath: old))
        let third = try SnapshotFolder(data: folder.path)
        #expect(!FileManager.default.fileExists(atPath: old))
        #expect(try await third.snapshots().count == 1)
        #expect(try await first.snapshots().isEmpty)
    }

    private static func store(_ byte: String, in storage: SnapshotFolder) async throws {
        let draft = try await storage.draft(identifier: String(repeating: byte, count: 32))
        _ = try await draft.append([1, 2, 3])
        let subject = SnapshotSubject(
            partition: Partition(containerIdentifier: "iCloud.a", environment: .development, owner: "_a"), zoneName: "Z", zoneKey: 1,
            epoch: 1)
        _ = try await draft.finish(subject, created: 0, recordCount: 0, syncToken: "00", serverIdentity: "s")
    }

    // MARK: Budgets

    @Test func aZoneLargerThanTheBudgetGetsPagesAndLeavesNoFile() async throws {
        let village = try Self.village(.sqlite) { $0.snapshotBytes = 5000 }
        let mia = try await village.villager("mia")
        try await Self.plant(100, mia)
        let begun = try #require(try await Self.changes(mia).snapshot)
        await village.service.snapshots.idle()
        #expect(try await Self.code(begun.identifier, mia) == "NOT_FOUND")
        #expect(try await Self.changes(mia).snapshot == nil)
        #expect(Self.files(village).isEmpty)
        #expect(village.service.snapshots.counts?.failed == 1)
    }

    @Test func theLeastRecentlyUsedSnapshotMakesRoom() async throws {
        let village = try Self.village(.sqlite) { $0.snapshotBytes = 20_000 }
        let mia = try await village.villager("mia")
        let bo = try await village.villager("bo")
        let ben = try await village.villager("ben")
        for villager in [mia, bo, ben] { try await Self.plant(20, villager) }
        let miasOffer = try await Self.offer(mia)
        #expect((6700..<10_000).contains(miasOffer.whole?.byteCount ?? 0), "two of them fit")
        village.clock.advance(seconds: 1)
        let bosOffer = try await Self.offer(bo)
        village.clock.advance(seconds: 1)
        #expect(try await Self.offer(mia) == miasOffer)
        village.clock.advance(seconds: 1)
        _ = try await Self.offer(ben)
        #expect(try await Self.code(bosOffer.identifier, bo) == "NOT_FOUND")
        #expect(try await Self.code(miasOffer.identifier, mia) == "OK")
    }

    @Test func streamsOfASenderAreLimited() async throws {
        let village = try Self.village(.sqlite) { $0.snapshotStreamsPerUser = 2 }
        let mia = try await village.villager("mia")
        try await Self.plant(20, mia)
        let offer = try await Self.offer(mia)
        var held: [ServiceResponse] = []
        for _ in 0..<2 { held.append(await Self.response(offer.identifier, mia)) }
        #expect(held.map(\.status) == [200, 200])
        #expect(try await Self.code(offer.identifier, mia) == "THROTTLED")
        held = []
        #expect(try await Self.code(offer.identifier, mia) == "OK")
    }
}
