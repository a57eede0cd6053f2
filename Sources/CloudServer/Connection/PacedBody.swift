// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Hummingbird
import NIOCore

/// The body of a request, with a minimum transfer rate: a slow client could otherwise hold a connection and its resources for
/// any time (Slowloris).
///
/// The body can be read once, by one iterator or by several in turn.
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

/// The reading position in a request's body.
final class BodyReader: @unchecked Sendable {
    // @unchecked: one task at a time uses a reader, the service's first and, after its response, the one that drains the body.
    private var base: RequestBody.AsyncIterator
    private let pace: BodyPace
    /// Start and byte count of the measuring window. A fast start doesn't make up for a slow end, since each window counts alone.
    private var windowStart: ContinuousClock.Instant
    private var windowBytes = 0
    private var isFirstWindow = true
    private let onTooSlow: @Sendable () -> Void
    /// `true` once the body has ended or failed.
    private(set) var isAtEnd = false
    private(set) var bytesRead = 0

    init(_ body: RequestBody, pace: BodyPace, start: ContinuousClock.Instant, onTooSlow: @escaping @Sendable () -> Void) {
        base = body.makeAsyncIterator()
        self.pace = pace
        windowStart = start
        self.onTooSlow = onTooSlow
    }

    /// Returns the next part of the body; nil at its end.
    ///
    /// - Throws: `WireError` with `.badRequest` if the body is too slow, after a call of `onTooSlow`, or truncated.
    func next() async throws -> ByteBuffer? {
        guard !isAtEnd else { return nil }
        guard let buffer = try await arriving() else {
            isAtEnd = true
            return nil
        }
        windowBytes += buffer.readableBytes
        bytesRead += buffer.readableBytes
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
            throw WireError(.badRequest, "the body is truncated or isn't valid HTTP")
        }
    }

    /// Drains the unread body: some clients send the whole request before they read the response.
    func skip() async { while (try? await next()) != nil {} }
}

/// The minimum transfer rate of request bodies.
struct BodyPace: Hashable, Sendable {
    /// Seconds at the start without a minimum rate.
    var graceSeconds: Int
    /// 0 means no minimum rate.
    var bytesPerSecond: Int

    init(_ limits: Limits) {
        graceSeconds = limits.bodyGraceSeconds
        bytesPerSecond = limits.bodyBytesPerSecond
    }

    enum Verdict: Hashable, Sendable {
        case fastEnough
        /// Fast enough; a new window begins now.
        case beginsAnew
        case tooSlow
    }

    /// Compares a window with the minimum rate: the first window after its grace, a later one once it has lasted for the grace.
    ///
    /// - Parameter bytes: Bytes received since the start of the window.
    func verdict(bytes: Int, in duration: Duration, isFirst: Bool) -> Verdict {
        let seconds = duration / .seconds(1), judged = seconds - (isFirst ? Double(graceSeconds) : 0)
        guard judged > 0, isFirst || seconds >= Double(graceSeconds) else { return .fastEnough }
        if Double(bytes) < judged * Double(bytesPerSecond) { return .tooSlow }
        return seconds >= Double(2 * graceSeconds) || !isFirst ? .beginsAnew : .fastEnough
    }
}
