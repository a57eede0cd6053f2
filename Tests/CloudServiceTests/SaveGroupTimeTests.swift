// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import ServiceFixtures
import StorageFixtures
import Testing

@testable import CloudService

/// The processor time of a save group: other saves wait for it.
@Suite struct SaveGroupTimeTests {
    private static let parts = 16
    private static let recordsPerPart = 100

    @Test func aGroupHasTheTimeOfTwoRequestsAtMost() {
        var limits = Limits()
        limits.writeMilliseconds = 300
        #expect(limits.writeMilliseconds(ofParts: -1) == 300)
        #expect(limits.writeMilliseconds(ofParts: 1) == 300)
        #expect(limits.writeMilliseconds(ofParts: 7) == 300)
        #expect(limits.writeMilliseconds(ofParts: 8) == 600)
        #expect(limits.writeMilliseconds(ofParts: limits.requestsPerSaveGroup) == 600)
        #expect(limits.writeMilliseconds(ofParts: .max) == 600)
    }

    /// A service on the same storage that allows a millisecond for each request executes a group of 1,600 records.
    @Test func aGroupBeyondItsTimeSavesNothingAndMayBeSentAgain() async throws {
        let village = try Village()
        let mia = try await village.villager("mia")
        for part in 0..<Self.parts - 1 {
            let response = await Self.respond(village.service, part, of: mia)
            #expect(response.status == 200, "\(response.text)")
            #expect(try ModifyRecordsResponse(json: Array(response.text.utf8)).saveGroup == .staged)
        }
        var limits = Limits()
        limits.writeMilliseconds = 1
        let strict = CloudService(
            engine: Engine(limits: limits, sealer: village.store.sealer), storage: village.store, accounts: village.store,
            assets: village.store, push: village.hub, surroundings: village.service.surroundings)
        let refused = await Self.respond(strict, Self.parts - 1, of: mia)
        // PostgreSQL may end the statement before the server looks at its clock: its limit of a statement is the same number.
        if village.place.kind == .sqlite || refused.status != 503 {
            #expect(refused.status == 400)
            #expect(try WireError(json: Array(refused.text.utf8)).nativeCode == .limitExceeded)
        }
        #expect(try await mia.lookup("r0-0", "r15-99").map(\.outcome) == ["NOT_FOUND", "NOT_FOUND"])
        // The staged requests are still there.
        let saved = await Self.respond(village.service, Self.parts - 1, of: mia)
        let response = try ModifyRecordsResponse(json: Array(saved.text.utf8))
        #expect(response.saveGroup == .saved)
        #expect(response.results.count == Self.parts * Self.recordsPerPart)
        #expect(try await mia.lookup("r0-0", "r15-99").map(\.outcome) == ["saved", "saved"])
    }

    /// Sends a request of the group.
    private static func respond(_ service: CloudService, _ part: Int, of sender: Village.Villager) async -> ServiceResponse {
        let operations = (0..<recordsPerPart).map { RecordOperation(.create, .plant("r\(part)-\($0)")) }
        var request = ModifyRecordsRequest(operations: operations, zoneID: sender.zone(), atomic: false)
        request.saveGroup = SaveGroup(id: "one", part: part, parts: parts, isAtomic: true)
        let path = ServicePath(
            containerIdentifier: Village.container, environment: .development, scope: .private, operation: .modifyRecords)
        let headers = [
            "authorization": "Bearer \(sender.token)", "x-tarn-idempotency-key": "part-\(part)",
            HeaderNames.capabilities.lowercased(): Capability.headerValue([.wholeSaves]),
        ]
        return await service.respond(
            to: ServiceRequest(
                method: ServicePath.Operation.modifyRecords.method, path: path.path, headers: RequestHeaders(headers),
                body: .bytes(request.encoded()), baseURL: "http://tarn.example"))
    }
}
