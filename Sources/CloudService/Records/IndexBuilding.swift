// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import SystemSupport

/// Builds indexes for queries that need them.
struct IndexBuilding: ServiceSubject {
    let core: ServiceCore
    let builds: IndexBuilds

    /// Scheduling key of builds that no request waits for: together they get the share of one account.
    private static let requester = "index builds"
    /// Seconds until the retry of a query that needs an incomplete index.
    private static let retrySeconds = 3.0

    /// Builds indexes, in slices between which others may write.
    ///
    /// - Throws: `WireError` `.tryAgainLater` if there is more to do than one request waits for.
    func build(_ indexes: [RecordIndex], for call: Call) async throws {
        let partition = call.partition
        if let count = builds.recordCount(of: indexes, in: partition) { throw Self.indexesAreBuilt(indexes, count) }
        var recordCount = 0
        while recordCount < engine.limits.recordsIndexedPerQuery {
            try Task.checkCancellation()
            let slice = try await core.write(call) { [engine] in try engine.indexes.build(indexes, in: $0) }
            if slice.isComplete { return }
            recordCount += slice.recordCount
        }
        if builds.begin(indexes, in: partition, recordCount: recordCount) { Task { await carryOutBuild(in: partition) } }
        throw Self.indexesAreBuilt(indexes, recordCount)
    }

    private func carryOutBuild(in partition: Partition) async {
        let terms = WorkTerms(requester: Self.requester, milliseconds: engine.limits.writeMilliseconds)
        do {
            while true {
                let indexes = builds.indexes(in: partition)
                guard !indexes.isEmpty else { return }
                let slice = try await storage.write(partition, terms) { [engine] in try engine.indexes.build(Array(indexes), in: $0) }
                builds.note(slice, of: indexes, in: partition)
            }
        } catch {
            // The next query that needs the indexes goes on, and reports what fails.
            builds.end(in: partition)
        }
    }

    private static func indexesAreBuilt(_ indexes: [RecordIndex], _ recordCount: Int) -> WireError {
        let names = Set(indexes.map(\.fieldName)).sorted().joined(separator: "', '")
        return WireError(
            .tryAgainLater, "the index of '\(names)' is being built, \(CountText.text(recordCount, "record")) so far: send the query again",
            retryAfter: retrySeconds)
    }
}
