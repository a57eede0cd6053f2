// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import ServiceFixtures
import Testing

@testable import CloudService

/// A query that needs a missing index waits for a bounded number of records; the build goes on after it.
@Suite(.timeLimit(.minutes(2))) struct IndexBuildTests {
    private static let plantCount = 2300

    private func plants(recordsIndexedPerQuery: Int) async throws -> Village.Villager {
        var limits = Limits()
        limits.recordsIndexedPerQuery = recordsIndexedPerQuery
        let mia = try await Village(limits: limits).villager("mia")
        let names = (0..<Self.plantCount).map { "p\($0)" }
        for start in stride(from: 0, to: names.count, by: 100) {
            try await mia.modify(names[start..<min(start + 100, names.count)].map { RecordOperation(.create, .plant($0)) })
        }
        return mia
    }

    private func query(_ mia: Village.Villager) async throws -> [String] {
        let filter = QueryFilter(.system(.share), .notEquals, .reference(RecordReference(recordName: "none")))
        let request = QueryRecordsRequest(query: Query(recordType: "Plant", filters: [filter]), zoneID: mia.zone(), resultsLimit: 3)
        return try await mia.ask(.private, .queryRecords, request, QueryRecordsResponse.self).results.compactMap { $0.record?.recordName }
    }

    @Test func aQueryWaitsForAnIndexThatIsBuiltSoon() async throws {
        let mia = try await plants(recordsIndexedPerQuery: 10_000)
        #expect(try await query(mia).count == 3)
    }

    @Test func aQueryIsToldToRetryWhileALongBuildGoesOn() async throws {
        let mia = try await plants(recordsIndexedPerQuery: 1000)
        let refusal = await #expect(throws: WireError.self) { try await query(mia) }
        #expect(refusal?.code == .tryAgainLater)
        #expect(refusal?.retryAfter == 3)
        #expect(refusal?.reason == "the index of 'recordName' is being built, 1000 records so far: send the query again")

        var names: [String] = []
        while names.isEmpty {
            do {
                names = try await query(mia)
            } catch let error as WireError where error.code == .tryAgainLater {
                await Task.yield()
            }
        }
        #expect(names == ["p0", "p1", "p10"])
    }

    @Test func aPartitionHasOneBuildAtATime() throws {
        let builds = IndexBuilds()
        let partition = Partition(containerIdentifier: "c", environment: .development, scope: .public, owner: Partition.publicOwner)
        let (title, date) = (
            RecordIndex(recordType: "A", field: "title", kind: .values), RecordIndex(recordType: "A", field: "date", kind: .values)
        )
        let isFirst = builds.begin([title], in: partition, recordCount: 500)
        #expect(isFirst)
        builds.note(IndexSlice(isComplete: false, recordCount: 1000), of: [title], in: partition)
        #expect(builds.recordCount(of: [title], in: partition) == 1500)
        #expect(builds.recordCount(of: [date], in: partition) == nil)

        let isSecond = builds.begin([date], in: partition, recordCount: 200)
        #expect(!isSecond)
        #expect(
            builds.recordCount(of: [title, date], in: partition) == 200, "the build begins again with the index that is farthest behind")

        builds.note(IndexSlice(isComplete: true, recordCount: 10), of: [title], in: partition)
        #expect(builds.indexes(in: partition) == [date])
        builds.note(IndexSlice(isComplete: true, recordCount: 10), of: [date], in: partition)
        #expect(builds.recordCount(of: [date], in: partition) == nil)
    }
}
