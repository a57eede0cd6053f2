// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation
import Synchronization
import TestBasics
import Testing

@testable import CloudStorageSupport

@Suite struct S3ClientTests {
    private final class Pauses: Sendable {
        let durations = Mutex<[Duration]>([])
    }

    private static let hash = "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81"

    @Test(arguments: [
        MemoryBucket.error(503, "SlowDown"), MemoryBucket.error(500, "InternalError"), MemoryBucket.error(409, "OperationAborted"),
        S3Response(status: 0), S3Response(status: 429),
    ])
    func temporaryFailuresAreRetriedWithBackoff(_ response: S3Response) async throws {
        let bucket = MemoryBucket()
        let pauses = Pauses()
        let client = try bucket.client { duration in pauses.durations.withLock { $0.append(duration) } }
        for _ in 0..<2 { bucket.intercept { _ in response } }
        try await client.put("a", .bytes([1, 2, 3]), bodySHA256: Self.hash)
        #expect(bucket["a"] == [1, 2, 3])
        let durations = pauses.durations.withLock { $0 }
        #expect(durations.count == 2)
        #expect(durations.allSatisfy { $0 >= .milliseconds(100) && $0 <= .milliseconds(400) })
    }

    @Test func attemptsEnd() async throws {
        let bucket = MemoryBucket()
        for _ in 0..<4 { bucket.intercept { _ in S3Response(status: 0) } }
        await #expect(throws: S3Failure.unreachable) { try await bucket.client().get("a") }
        #expect(bucket.requests.count == 4)
    }

    @Test(arguments: [(403, "AccessDenied"), (404, "NoSuchBucket"), (400, "InvalidRequest")])
    func otherFailuresAreNotRetried(_ status: Int, _ code: String) async throws {
        let bucket = MemoryBucket()
        bucket.intercept { _ in MemoryBucket.error(status, code) }
        await #expect(throws: S3Failure.rejected(status: status, code: code)) { try await bucket.client().get("a") }
        #expect(bucket.requests.count == 1)
    }

    /// Text of the store reaches no log.
    @Test func causesHaveNoTextOfResponses() async throws {
        let bucket = MemoryBucket()
        bucket.intercept { _ in MemoryBucket.error(403, "the key AKIA of mia") }
        let failure = await #expect(throws: S3Failure.self) { try await bucket.client().get("a") }
        #expect(failure?.storageFailure == StorageFailure(.objectStore, "the S3 store: status 403"))
    }

    @Test func bytesOfAnotherLengthAreDamaged() async throws {
        let bucket = MemoryBucket()
        bucket["a"] = [1, 2, 3]
        #expect(try await bucket.client().get("a", 1..<3) == [2, 3])
        await #expect(throws: S3Failure.damaged) { try await bucket.client().get("a", 1..<4) }
    }

    @Test func aBodyThatChangedOnItsWayIsRejected() async throws {
        let bucket = MemoryBucket()
        await #expect(throws: S3Failure.rejected(status: 400, code: "XAmzContentSHA256Mismatch")) {
            try await bucket.client().put("a", .bytes([1, 2]), bodySHA256: Self.hash)
        }
        #expect(bucket["a"] == nil)
    }

    // MARK: Parts

    private static func begin(_ client: S3Client) async throws -> (upload: String, tags: [String]) {
        let upload = try await client.beginParts("a")
        return (upload, [try await client.putPart("a", upload: upload, number: 1, .bytes([1, 2, 3]), bodySHA256: hash)])
    }

    /// The store sends the status before it has made the object.
    @Test func aCompletionThatFailsAfterItsStatusIsRetried() async throws {
        let bucket = MemoryBucket()
        let client = try bucket.client()
        let (upload, tags) = try await Self.begin(client)
        bucket.intercept { _ in MemoryBucket.error(200, "InternalError") }
        try await client.completeParts("a", upload: upload, tags: tags, size: 3)
        #expect(bucket["a"] == [1, 2, 3])
    }

    @Test func aCompletionWhoseResponseIsLostIsFound() async throws {
        let bucket = MemoryBucket()
        let client = try bucket.client()
        let (upload, tags) = try await Self.begin(client)
        bucket.intercept { [bucket] _ in
            bucket["a"] = [1, 2, 3]
            return S3Response(status: 0)
        }
        bucket.intercept { _ in MemoryBucket.error(404, "NoSuchUpload") }
        try await client.completeParts("a", upload: upload, tags: tags, size: 3)
    }

    @Test func aCompletionWithoutAnObjectFails() async throws {
        let bucket = MemoryBucket()
        let client = try bucket.client()
        let (upload, tags) = try await Self.begin(client)
        bucket.intercept { _ in MemoryBucket.error(404, "NoSuchUpload") }
        await #expect(throws: S3Failure.rejected(status: 404, code: "NoSuchUpload")) {
            try await client.completeParts("a", upload: upload, tags: tags, size: 3)
        }
    }
}
