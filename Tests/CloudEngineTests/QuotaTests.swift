// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import EngineFixtures
import Testing

@Suite struct QuotaTests {
    private static func text(_ count: Int) -> FieldValue { .string(String(repeating: "x", count: count)) }

    private func usage(_ bench: Bench, as call: Call? = nil) async throws -> StoredBytes {
        try await bench.read(call) { _, view, _ in try view.state().usage }
    }

    /// Usage, computed from every record.
    private func measured(_ bench: Bench) async throws -> StoredBytes {
        try await bench.read { _, view, _ in
            var bytes = StoredBytes()
            for zone in try view.zones() {
                let records = try view.records(
                    ChangeSlice(after: -1), in: zone.key, includingDeleted: false, limit: .max, bytesMax: .max)
                var assets: [String: Int64] = [:]
                for record in records.map(\.record) {
                    bytes.records += Int64(RecordSize.bytes(of: record))
                    for field in record.fields.values {
                        if case .asset(let asset) = field.value { assets[asset.fileChecksum] = asset.size }
                        if case .list(let elements, of: .asset) = field.value {
                            for case .asset(let asset) in elements { assets[asset.fileChecksum] = asset.size }
                        }
                    }
                }
                #expect(zone.usage.assets == assets.values.reduce(0, +), "zone \(zone.name)")
                bytes.assets += assets.values.reduce(0, +)
            }
            return bytes
        }
    }

    private func upload(_ bench: Bench, _ content: UInt8, count: Int, in zoneID: ZoneID = Bench.garden) async throws -> FieldValue {
        let request = AssetUploadRequest(items: [.init(recordType: "Plant", recordName: "p", fieldName: "photo")], zoneID: zoneID)
        let response = try await bench.write { try $0.assets.requestUploads(request, in: $1, $2).response }
        guard case .address(let address) = response.results[0] else { throw WireError(.internalError, "no address") }
        let parts = address.url.split(separator: "/")
        let id = String(parts[parts.count - 3])
        let pieces = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield(Array(repeating: content, count: count))
            continuation.finish()
        }
        let stored = try await bench.store.receive(
            pieces, forUpload: id, in: bench.call().partition, bytesMax: .max, bytesExpected: nil, at: Bench.start)
        let asset = try #require(stored)
        return .asset(AssetValue(fileChecksum: asset.checksum, size: asset.size, receipt: id))
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func countersOfUsageMatchTheStoredBytes(_ seed: UInt64) async throws {
        var random = SplitMix(seed: seed)
        let bench = try await Bench.withGarden()
        let zones = [Bench.garden, ZoneID(zoneName: "Field"), .defaultZone]
        try await bench.makeZone(zones[1])
        for step in 0..<120 {
            let zoneID = zones[Int(random.next() % 3)]
            var operations: [RecordOperation] = []
            for name in Set((0..<Int(random.next() % 4 + 1)).map { _ in "p\(random.next() % 12)" }).sorted() {
                var fields: [String: FieldValue] = ["name": Self.text(Int(random.next() % 300))]
                switch random.next() % 6 {
                case 0:
                    fields["photo"] = try await upload(bench, UInt8(random.next() % 4), count: 1000 + Int(random.next() % 3), in: zoneID)
                case 1:
                    let two = [
                        try await upload(bench, UInt8(random.next() % 4), count: 500, in: zoneID),
                        try await upload(bench, 9, count: 70, in: zoneID),
                    ]
                    fields["photos"] = .list(two, of: .asset)
                default: break
                }
                let kinds: [RecordOperation.Kind] = [.create, .forceUpdate, .forceReplace, .forceDelete, .update]
                operations.append(.init(kinds[Int(random.next() % 5)], .plant(name, fields)))
            }
            try await bench.modify(operations, in: zoneID, atomic: random.next() % 2 == 0)
            if step % 40 == 39 {
                try await bench.deleteZone(zones[1])
                try await bench.makeZone(zones[1])
            }
        }
        let kept = try await usage(bench)
        #expect(try await measured(bench) == kept)
        #expect(kept.records > 0)
        #expect(kept.assets > 0)
        // Tombstones of a removed zone are subtracted by the housekeeping of the next day at the latest.
        try await bench.store.removeExpired(now: Bench.start + 2 * 86_400_000)
        let (counted, tombstones) = try await bench.read { _, view, _ in
            let slice = ChangeSlice(after: 0)
            let tombstones = try view.zones().reduce(0) { sum, zone in
                let all = try view.count(slice, in: zone.key, shares: nil, includingDeleted: true, atMost: 1000)
                return try sum + all - view.count(slice, in: zone.key, shares: nil, includingDeleted: false, atMost: 1000)
            }
            return (try view.state().tombstones, Int64(tombstones))
        }
        #expect(counted == tombstones)
        #expect(counted > 0)
    }

    /// Participants behind the first 4 KB count, also one that joins by the link.
    @Test func participantsOfAShareCount() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("bed")))
        var share = Record(recordName: "share", recordType: ShareDetails.recordType)
        let domain = String(repeating: "x", count: 60)
        let participants = (0..<90).map { number in
            let person = UserIdentity(userRecordName: "", lookupInfo: .emailAddress("\(number)@\(domain).org"))
            return ShareParticipant(identity: person, permission: .readOnly)
        }
        share.sharing.details = ShareDetails(rootRecordName: "bed", publicPermission: .readWrite, participants: participants)
        let empty = try await usage(bench)
        let saved = try #require(try await bench.modify(.init(.create, share)).first?.record)
        let shared = try await usage(bench)
        #expect(shared.records - empty.records > 90 * 60 - 4096)
        #expect(try await measured(bench) == shared)
        let guid = try #require(saved.sharing.shortGUID)
        var bo = bench.call()
        bo.caller = Caller(userRecordName: "_" + String(repeating: "b", count: 32), deviceID: "phone")
        let target = LinkTarget(partition: bo.partition, zoneName: Bench.garden.zoneName, recordName: "bed")
        try await bench.write(bo) { _ = try $0.shares.accept(ShortGUID(value: guid), target, nil, in: $1, $2) }
        let joined = try await usage(bench)
        #expect(joined.records - shared.records >= 33)
        #expect(try await measured(bench) == joined)
        try await bench.modify(.init(.forceDelete, Record(recordName: "share")))
        #expect(try await usage(bench) == empty)
    }

    private func tombstones(_ bench: Bench) async throws -> Int64 {
        try await bench.read { _, view, _ in try view.state().tombstones }
    }

    @Test func aDatabaseWithAQuotaHasALimitedNumberOfTombstones() async throws {
        var limits = Limits()
        (limits.userBytes, limits.tombstonesPerDatabase) = (100_000, 5)
        let bench = try await Bench.withGarden(limits: limits)
        let names = (0..<5).map { "p\($0)" }
        try await bench.modify(.init(.create, .plant("alive")))
        try await bench.modify(names.map { RecordOperation(.create, .plant($0)) })
        try await bench.modify(names.map { RecordOperation(.forceDelete, .plant($0)) })
        #expect(try await tombstones(bench) == 5)
        // The name of a deleted record takes its row.
        let results = try await bench.modify(
            .init(.create, .plant("new")), .init(.create, .plant("p0")), .init(.forceUpdate, .plant("alive", ["n": .int64(1)])),
            atomic: false)
        #expect(results.map(\.word) == ["QUOTA_EXCEEDED", "saved", "saved"])
        #expect(results[0].error?.reason.contains("tombstonesPerDatabase") == true)
        #expect(try await tombstones(bench) == 4)
        #expect(try await bench.modify(.init(.create, .plant("new"))).map(\.word) == ["saved"])
        // Deletions are never refused.
        let deleted = try await bench.modify(
            .init(.forceDelete, .plant("new")), .init(.forceDelete, .plant("p0")), .init(.forceDelete, .plant("alive")))
        #expect(deleted.map(\.word) == ["deleted", "deleted", "deleted"])
        #expect(try await tombstones(bench) == 7)
        #expect(try await bench.modify(.init(.create, .plant("other"))).map(\.word) == ["QUOTA_EXCEEDED"])
        try await bench.store.removeExpired(now: Bench.start + 91 * 86_400_000)
        #expect(try await tombstones(bench) == 0)
        #expect(try await bench.modify(.init(.create, .plant("other"))).map(\.word) == ["saved"])
    }

    @Test func aDatabaseWithoutAQuotaHasAnyNumberOfTombstones() async throws {
        var limits = Limits()
        limits.tombstonesPerDatabase = 1
        let bench = try await Bench.withGarden(limits: limits)
        for number in 0..<3 {
            #expect(try await bench.modify(.init(.create, .plant("p\(number)"))).map(\.word) == ["saved"])
            try await bench.modify(.init(.forceDelete, .plant("p\(number)")))
        }
        #expect(try await tombstones(bench) == 3)
    }

    @Test func aDatabaseWithAQuotaHasTombstonesOfALimitedNumberOfZones() async throws {
        var limits = Limits()
        (limits.userBytes, limits.zonesPerDatabase) = (100_000, 2)
        let bench = try Bench(limits: limits)
        @Sendable func isRefused(_ name: String) async throws -> Bool {
            let request = ZonesModifyRequest(operations: [.create(ZoneID(zoneName: name))])
            let result = try await bench.write { try $0.zones.modify(request, in: $1, $2) }.response.zones[0]
            return if case .failure(_, let error) = result { error.code == .quotaExceeded } else { false }
        }
        let most = ZoneRequests.deletedZonesFactor * limits.zonesPerDatabase
        for number in 0..<most {
            #expect(try await !isRefused("z\(number)"))
            try await bench.deleteZone(ZoneID(zoneName: "z\(number)"))
        }
        #expect(try await isRefused("new"))
        #expect(try await !isRefused("z0"), "the name of a deleted zone takes its row")
        #expect(try await !isRefused("new"))
    }

    @Test func cascadedDeletionsReduceTheUsage() async throws {
        let bench = try await Bench.withGarden()
        let owner = FieldValue.reference(RecordReference(recordName: "bed", action: .deleteSelf))
        try await bench.modify(.init(.create, .plant("bed")), .init(.create, .plant("sage", ["bed": owner, "name": Self.text(500)])))
        var share = Record(recordName: "share", recordType: ShareDetails.recordType, fields: ["cloudkit.title": Field(Self.text(90))])
        share.sharing.details = ShareDetails(rootRecordName: "bed")
        try await bench.modify(.init(.create, share))
        #expect(try await usage(bench) == measured(bench))
        try await bench.modify(.init(.forceDelete, .plant("bed")))
        #expect(try await usage(bench) == StoredBytes())
    }

    /// Otherwise a record of them could have any number of bytes.
    @Test func ownersParticipantsAndShortElementsCount() async throws {
        var limits = Limits()
        limits.userBytes = 20_000
        let bench = try await Bench.withGarden(limits: limits)
        let text = String(repeating: "x", count: 30_000)
        let reference = RecordReference(recordName: "bed", zoneID: ZoneID(zoneName: "Garden", ownerRecordName: "_" + text))
        let texts = FieldValue.list(Array(repeating: .string(""), count: 4000), of: .string)
        var share = Record(recordName: "share", recordType: ShareDetails.recordType)
        let person = UserIdentity(userRecordName: "", lookupInfo: .emailAddress(text))
        share.sharing.details = ShareDetails(
            rootRecordName: "bed", participants: [ShareParticipant(identity: person, permission: .readOnly)])
        try await bench.modify(.init(.create, .plant("bed")))
        let records: [Record] = [.plant("a", ["bed": .reference(reference)]), .plant("b", ["words": texts]), share]
        for record in records {
            #expect(try await bench.modify(.init(.create, record)).map(\.word) == ["QUOTA_EXCEEDED"], "\(record.recordName)")
        }
        #expect(RecordSize.bytes(of: .plant("c", ["tags": .list([.string("x"), .string("")], of: .string)])) == 11, "few of them do not")
    }

    @Test func onlyOperationsAboveTheQuotaAreRejected() async throws {
        var limits = Limits()
        limits.userBytes = 1000
        let bench = try await Bench.withGarden(limits: limits)
        let words = try await bench.modify(
            .init(.create, .plant("a", ["name": Self.text(600)])), .init(.create, .plant("b", ["name": Self.text(600)])),
            .init(.create, .plant("c", ["name": Self.text(100)])), in: .defaultZone
        ).map(\.word)
        #expect(words == ["saved", "QUOTA_EXCEEDED", "saved"])
        let atomic = try await bench.modify(
            .init(.create, .plant("d", ["name": Self.text(10)])), .init(.create, .plant("e", ["name": Self.text(900)]))
        ).map(\.word)
        #expect(atomic == ["ATOMIC_ERROR", "QUOTA_EXCEEDED"])
        // A deletion in the same request makes room.
        let swapped = try await bench.modify(
            .init(.forceDelete, .plant("a")), .init(.create, .plant("b", ["name": Self.text(600)])), in: .defaultZone
        ).map(\.word)
        #expect(swapped == ["deleted", "saved"])
        let status = try await bench.read { try $0.quotas.status(of: $2.partition, in: $1) }
        #expect(status.bytes == (try await usage(bench)).total)
        #expect(status.bytesMax == 1000)

        limits.userBytes = 300
        let tight = Engine(limits: limits, sealer: bench.store.sealer)
        let call = bench.call()
        let smaller = try await bench.store.write(call.partition) { unit in
            try tight.records.modify(
                ModifyRecordsRequest(operations: [.init(.forceUpdate, .plant("b", ["name": Self.text(500)]))]), in: unit, call)
        }
        #expect(smaller.response.results.map(\.word) == ["saved"], "over the quota, less is always taken")
        let uploads = AssetUploadRequest(items: [.init(recordType: "Plant", recordName: "p", fieldName: "photo")])
        let refused = await refusal {
            try await bench.store.write(call.partition) { try tight.assets.requestUploads(uploads, in: $0, call) }
        }
        #expect(refused?.code == .quotaExceeded)
    }

    @Test func anAssetCountsOnceAndItsReplacementInItsPlace() async throws {
        var limits = Limits()
        limits.userBytes = 3000
        let bench = try await Bench.withGarden(limits: limits)
        let photo = try await upload(bench, 1, count: 1500)
        try await bench.modify(.init(.create, .plant("a", ["photo": photo])))
        #expect(try await usage(bench).assets == 1500)
        #expect(try await bench.modify(.init(.create, .plant("b", ["photo": photo]))).map(\.word) == ["saved"], "the same file")
        #expect(try await usage(bench).assets == 1500)
        let other = try await upload(bench, 2, count: 1400)
        #expect(try await bench.modify(.init(.create, .plant("c", ["photo": other]))).map(\.word) == ["QUOTA_EXCEEDED"])
        #expect(
            try await bench.modify(.init(.forceDelete, .plant("b")), .init(.forceUpdate, .plant("a", ["photo": other]))).map(\.word)
                == ["deleted", "saved"])
        #expect(try await usage(bench).assets == 1400)
        try await bench.deleteZone(Bench.garden)
        #expect(try await usage(bench) == StoredBytes())
    }

    @Test func aUsersOwnQuotaOverridesTheLimit() async throws {
        var limits = Limits()
        limits.userBytes = 9
        let bench = try Bench(limits: limits)
        _ = try await bench.store.addUser(name: "mia", deviceLabel: "tablet", now: 0)
        let container = bench.call().partition.containerIdentifier
        let account = try #require(try await bench.store.account(named: "mia"))
        let name = try await bench.store.userRecordName(account: account, containerIdentifier: container, proposal: "_mia")
        func save(_ plant: String) async throws -> String {
            try await bench.modify(.init(.create, .plant(plant)), in: .defaultZone, as: bench.call(user: name))[0].word
        }
        #expect(try await save("plant") == "QUOTA_EXCEEDED")
        try await bench.store.setQuota(12, ofUser: "mia")
        #expect(try await save("plant") == "saved")
        #expect(try await save("more") == "QUOTA_EXCEEDED")
        try await bench.store.setQuota(0, ofUser: "mia")
        #expect(try await save("more") == "saved")
        let lines = try await bench.store.usage()
        #expect(lines.map(\.userName) == ["mia"])
        #expect(lines.map(\.usage.records) == [19])
        try await bench.store.setQuota(nil, ofUser: "mia")
        #expect(try await save("third") == "QUOTA_EXCEEDED")
    }

    /// A request of a few bytes can name a record with thousands of assets many times.
    @Test func aRequestGetsReceiptsForAsManyAssetsAsARecordMayHave() async throws {
        var limits = Limits()
        limits.recordBytes = 1000
        let bench = try await Bench.withGarden(limits: limits)
        let photo = try await upload(bench, 1, count: 3)
        // Ten checksums of 64 bytes, and the sizes.
        try await bench.modify(
            RecordOperation(.create, .plant("p", ["photos": .list(Array(repeating: photo, count: 10), of: .asset)])))
        let request = RereferenceAssetsRequest(
            zoneID: Bench.garden, assets: Array(repeating: .init(recordName: "p", fieldName: "photos"), count: 4))
        let results = try await bench.write { try $0.assets.rereference(request, in: $1, $2).response.assets }
        var receipts: [String?] = []
        var errors: [AppErrorCode?] = []
        for result in results {
            switch result {
            case .asset: Issue.record("the field has a list")
            case .list(let assets): receipts += assets.map(\.receipt)
            case .failure(_, _, let error): errors.append(error.nativeCode)
            }
        }
        #expect(receipts.count == 20)
        #expect(Set(receipts).count == 2, "one receipt for each file of a field")
        #expect(errors == [.limitExceeded, .limitExceeded])
    }
}

private struct SplitMix {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
