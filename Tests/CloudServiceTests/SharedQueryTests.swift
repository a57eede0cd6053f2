// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ServiceFixtures
import Testing

/// Queries on the two system fields that the schema language cannot name, and newest-first feeds of participants.
@Suite struct SharedQueryTests {
    private func names(_ who: Village.Villager, of owner: Village.Villager?, _ filters: QueryFilter...) async throws -> [String] {
        let request = QueryRecordsRequest(query: Query(recordType: "Plant", filters: filters), zoneID: who.zone(owner))
        let response = try await who.ask(owner == nil ? .private : .shared, .queryRecords, request, QueryRecordsResponse.self)
        return response.results.compactMap { $0.record?.recordName }.sorted()
    }

    private func reference(_ name: String) -> FieldValue { .reference(RecordReference(recordName: name)) }

    @Test func recordsAreFoundByParentAndByShare() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        let below = QueryFilter(.system(.parent), .equals, reference("bed"))
        let shared = QueryFilter(.system(.share), .equals, reference("share"))
        #expect(try await names(mia, of: nil, below) == ["sage"])
        #expect(
            try await names(
                mia, of: nil, QueryFilter(.field("___parent"), .isIn, .list([reference("sage"), reference("x")], of: .reference))) == [
                    "mint"
                ])
        #expect(try await names(mia, of: nil, shared) == ["bed", "mint", "sage"])
        #expect(try await names(mia, of: nil, QueryFilter(.system(.share), .notEquals, reference("share"))) == ["own"])
        #expect(try await names(mia, of: nil, shared, below) == ["sage"])

        _ = try await bo.accept(guid)
        #expect(try await names(bo, of: mia, shared) == ["bed", "mint", "sage"])

        // What moves is found where it is.
        var moved = Record.plant("mint")
        moved.sharing.parent = ""
        try await mia.modify([RecordOperation(.forceUpdate, moved)])
        #expect(try await names(mia, of: nil, shared) == ["bed", "sage"])
        #expect(try await names(mia, of: nil, QueryFilter(.system(.parent), .equals, reference("sage"))).isEmpty)
        let request = QueryRecordsRequest(query: Query(recordType: "Plant", filters: [below]), zoneID: mia.zone())
        let answer = try await mia.ask(.private, .queryRecords, request, QueryRecordsResponse.self)
        #expect(answer.results.first?.record?.sharing.share == "share", "answers of queries name the share, too")
    }

    /// Zones of the shared database are in as many places as there are owners.
    @Test func aQueryOfTheSharedDatabaseNamesItsZone() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        func refusal(_ zoneID: ZoneID?, zoneWide: Bool) async throws -> WireError? {
            let request = QueryRecordsRequest(query: Query(recordType: "Plant"), zoneID: zoneID, zoneWide: zoneWide)
            do {
                _ = try await bo.ask(.shared, .queryRecords, request, QueryRecordsResponse.self)
                return nil
            } catch let error as WireError {
                return error
            }
        }
        let everywhere = try #require(try await refusal(nil, zoneWide: true))
        #expect(everywhere.code == .badRequest)
        #expect(everywhere.reason.contains("does not support zone wide queries"))
        #expect(try await refusal(nil, zoneWide: false)?.code == .zoneNotFound)
        // Together with a zone it has no effect.
        #expect(try await refusal(bo.zone(mia), zoneWide: true)?.reason == "Field 'recordName' is not marked queryable")
    }

    @Test func aWholeZonesShareHoldsAllOfIt() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        try await mia.modify([RecordOperation(.create, .plant("a")), RecordOperation(.create, .plant("b"))])
        let shared = QueryFilter(.system(.share), .equals, reference(ShareDetails.zoneShareName))
        #expect(try await names(mia, of: nil, shared).isEmpty)
        try await mia.modify([RecordOperation(.create, .share(ShareDetails.zoneShareName, of: nil))])
        #expect(try await names(mia, of: nil, shared) == ["a", "b"])
    }

    @Test func aParticipantsFeedRunsBackwardsToo() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        var token: String?
        var seen: [String] = []
        repeat {
            let query = ZoneChangesQuery(zoneID: bo.zone(mia), syncToken: token, resultsLimit: 1, reverse: true)
            let response = try await bo.ask(.shared, .zoneChanges, ZoneChangesRequest(zones: [query]), ZoneChangesResponse.self)
            guard case .changes(let page) = response.zones[0] else { throw WireError(.internalError, "refused") }
            seen += page.records.map(\.recordName)
            token = page.syncToken
            guard page.moreComing else { break }
        } while true
        #expect(Set(seen) == ["bed", "sage", "mint", "share"])
        #expect(seen.count == 4)
        #expect(seen.first == "share")
        try await mia.modify([RecordOperation(.forceUpdate, .plant("sage", under: "bed"))])
        #expect(try await bo.changes(of: mia, since: token).picture == "+sage")
    }
}
