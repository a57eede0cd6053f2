// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Hummingbird

/// The body of a request, for as long as it arrives at a pace. Who sends a byte now and then would hold a connection, and
/// what belongs to it, for as long as he likes.
struct PacedBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    struct Iterator: AsyncIteratorProtocol {
        var base: RequestBody.AsyncIterator
        let body: PacedBody
        var bytes = 0

        mutating func next() async throws -> [UInt8]? {
            guard let buffer = try await base.next() else { return nil }
            bytes += buffer.readableBytes
            guard !body.pace.isTooSlow(bytes: bytes, in: ContinuousClock.now - body.start) else {
                body.onTooSlow()
                throw WireError(.badRequest, "the body arrives too slowly")
            }
            return Array(buffer: buffer)
        }
    }

    /// - Throws: `WireError` with `.badRequest` for a body that is too slow, after `onTooSlow`.
    let base: RequestBody
    let pace: BodyPace
    let start: ContinuousClock.Instant
    let onTooSlow: @Sendable () -> Void

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), body: self) }
}

/// How fast bodies arrive at least.
struct BodyPace: Hashable, Sendable {
    /// Seconds for which any pace will do.
    var graceSeconds: Int
    /// 0 means any pace will do for ever.
    var bytesPerSecond: Int

    init(_ limits: Limits) {
        graceSeconds = limits.bodyGraceSeconds
        bytesPerSecond = limits.bodyBytesPerSecond
    }

    func isTooSlow(bytes: Int, in duration: Duration) -> Bool {
        let seconds = duration / .seconds(1) - Double(graceSeconds)
        return seconds > 0 && Double(bytes) < seconds * Double(bytesPerSecond)
    }
}
