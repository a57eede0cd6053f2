// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

/// Look-ups of more records than a request, or a response, may have.
@Suite struct LookUpPartsTests {
    private static let names = (0..<5).map { "r\($0)" }

    private var limits: Limits {
        var limits = Limits()
        (limits.operationsPerRequest, limits.recordsPerResponse) = (4, 2)
        return limits
    }

    private func found(_ name: String) -> RecordResult { .record(Record(recordName: name)) }

    private func omitted(_ name: String) -> RecordResult {
        .failure(recordName: name, WireError(.badRequest, "the response is full", nativeCode: .limitExceeded), serverRecord: nil)
    }

    /// Runs a look-up against a server, and returns the requests and the names of the answered records.
    private func run(_ serve: ([String]) -> [RecordResult]?) -> (requests: [[String]], answered: [String]) {
        var parts = LookUpParts(Self.names, limits)
        var requests: [[String]] = []
        var answered: [String] = []
        while let names = parts.next() {
            requests.append(names)
            guard let results = serve(names) else {
                let isHalved = parts.halve()
                #expect(isHalved)
                if isHalved { continue } else { break }
            }
            answered += parts.take(results).map(\.recordName)
        }
        return (requests, answered)
    }

    @Test func aRequestHasAsManyNamesAsAResponseMayHaveRecords() {
        let run = run { $0.map(found) }
        #expect(run.requests == [["r0", "r1"], ["r2", "r3"], ["r4"]])
        #expect(run.answered == Self.names)
    }

    @Test func aRejectedRequestIsHalved() {
        let run = run { $0.count > 1 ? nil : $0.map(found) }
        #expect(run.requests.filter { $0.count > 1 } == [["r0", "r1"]])
        #expect(run.answered == Self.names)
    }

    /// Records that the response has no room for are requested again.
    @Test func omittedRecordsAreRequestedAgain() {
        let run = run { names in names.enumerated().map { $0.offset == 0 ? found($0.element) : omitted($0.element) } }
        #expect(run.requests == [["r0", "r1"], ["r1", "r2"], ["r2", "r3"], ["r3", "r4"], ["r4"]])
        #expect(run.answered == Self.names)
    }

    @Test func otherFailuresAreAnswers() {
        let missing = WireError(.notFound, "the record does not exist")
        let run = run { $0.map { .failure(recordName: $0, missing, serverRecord: nil) } }
        #expect(run.answered == Self.names)
    }

    @Test func aCallerLimitsTheRecordsOfARequest() {
        var parts = LookUpParts(Self.names, limits, atMost: 1)
        let first = parts.next()
        #expect(first == ["r0"])
    }

    /// Otherwise the look-up would never end.
    @Test func aRecordThatFitsIntoNoResponseKeepsItsFailure() {
        var parts = LookUpParts(["r0"], limits)
        _ = parts.next()
        let results = parts.take([omitted("r0")])
        #expect(results == [omitted("r0")])
        let next = parts.next()
        #expect(next == nil)
    }

    /// One large record does not keep those behind it from being returned.
    @Test func aResponseWithoutAnyRecordIsHalved() {
        let run = run { names in names.map(names.contains("r0") ? omitted : found) }
        #expect(run.requests == [["r0", "r1"], ["r0"], ["r1"], ["r2"], ["r3"], ["r4"]])
        #expect(run.answered == Self.names)
    }
}
