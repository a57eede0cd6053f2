// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Hummingbird
import NIOCore

/// The body of a request, for as long as it arrives at a pace. Who sends a byte now and then would hold a connection, and
/// what belongs to it, for as long as he likes.
///
/// It is read once, in one go or in several.
struct PacedBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    struct Iterator: AsyncIteratorProtocol {
        let reader: BodyReader

        mutating func next() async throws -> [UInt8]? { try await reader.next().map { Array(buffer: $0) } }
    }

    let reader: BodyReader

    func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }
}

/// How far a request's body was read.
final class BodyReader: @unchecked Sendable {
    // @unchecked: used by one at a time, by the service and, once it has answered, by who passes over the rest.
    private var base: RequestBody.AsyncIterator
    private let pace: BodyPace
    /// Since when, and how much of it, the pace is judged: what came fast in the beginning is no excuse later.
    private var windowStart: ContinuousClock.Instant
    private var windowBytes = 0
    private var isFirstWindow = true
    private let onTooSlow: @Sendable () -> Void
    /// Whether nothing more comes.
    private(set) var isAtEnd = false

    init(_ body: RequestBody, pace: BodyPace, start: ContinuousClock.Instant, onTooSlow: @escaping @Sendable () -> Void) {
        base = body.makeAsyncIterator()
        self.pace = pace
        windowStart = start
        self.onTooSlow = onTooSlow
    }

    /// - Throws: `WireError` with `.badRequest` for a body that is too slow, after `onTooSlow`, and for one that breaks off.
    func next() async throws -> ByteBuffer? {
        guard !isAtEnd else { return nil }
        guard let buffer = try await arriving() else {
            isAtEnd = true
            return nil
        }
        windowBytes += buffer.readableBytes
        let now = ContinuousClock.now
        switch pace.verdict(bytes: windowBytes, in: now - windowStart, isFirst: isFirstWindow) {
        case .fastEnough: break
        case .beginsAnew: (windowStart, windowBytes, isFirstWindow) = (now, 0, false)
        case .tooSlow:
            isAtEnd = true
            onTooSlow()
            throw WireError(.badRequest, "the body arrives too slowly")
        }
        return buffer
    }

    private func arriving() async throws -> ByteBuffer? {
        var iterator = base
        defer { base = iterator }
        do {
            return try await iterator.next()
        } catch is CancellationError {
            throw WireError(.tryAgainLater, "the server stops", retryAfter: 1)
        } catch {
            isAtEnd = true
            throw WireError(.badRequest, "the body breaks off, or is no HTTP")
        }
    }

    /// Passes over what nobody wants to read. Who sends all of a request before he reads its answer would not get there.
    func skip() async { while (try? await next()) != nil {} }
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

    enum Verdict: Hashable, Sendable {
        case fastEnough
        /// Fast enough; from now on what comes later is judged.
        case beginsAnew
        case tooSlow
    }

    /// Judges a window: the first one once its grace is over, each later one when it has lasted as long as the grace.
    ///
    /// - Parameter bytes: What arrived since the window began.
    func verdict(bytes: Int, in duration: Duration, isFirst: Bool) -> Verdict {
        let seconds = duration / .seconds(1), judged = seconds - (isFirst ? Double(graceSeconds) : 0)
        guard judged > 0, isFirst || seconds >= Double(graceSeconds) else { return .fastEnough }
        if Double(bytes) < judged * Double(bytesPerSecond) { return .tooSlow }
        return seconds >= Double(2 * graceSeconds) || !isFirst ? .beginsAnew : .fastEnough
    }
}
