// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Synchronization

/// Memory that requests take: bodies as they arrive, decoded values, and long responses until they are sent.
///
/// Invariant: all leases together hold at most ``bytesMax``, and those of anonymous senders at most ``bytesOfAnonymous``. A sender with a
/// lease gets no more than ``bytesPerSender``, so that one cannot take the room of all. Responses to changes may exceed it.
package final class RequestMemory: Sendable {
    /// Bytes of a decoded value of a JSON text at most, except for a few kinds of objects.
    static let bytesPerValue = 128
    /// Bytes of the longest response that takes no lease. The limit of connections bounds shorter ones.
    static let unleasedBytesMax = 65_536

    private struct Table {
        var bytes = 0
        var bytesOfAnonymous = 0
        var senders: [RequestBudgets.Sender: Int] = [:]

        mutating func add(_ count: Int, for sender: RequestBudgets.Sender) {
            bytes += count
            if case .network = sender { bytesOfAnonymous += count }
            let held = senders[sender, default: 0] + count
            senders[sender] = held > 0 ? held : nil
        }
    }

    let bytesMax: Int
    var bytesPerSender: Int { bytesMax / 4 }
    /// Of all anonymous senders together: any number of networks leaves room for accounts.
    var bytesOfAnonymous: Int { bytesMax / 2 }
    private let table = Mutex(Table())

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Bytes that requests take now.
    var bytes: Int { table.withLock { $0.bytes } }

    func lease(for sender: RequestBudgets.Sender) -> Lease { Lease(self, sender) }

    /// - Parameter own: Bytes of the lease that takes more. One alone may be longer than a sender's part.
    fileprivate func take(_ count: Int, beside own: Int, for sender: RequestBudgets.Sender) -> Bool {
        table.withLock { table in
            let held = table.senders[sender, default: 0]
            guard table.bytes + count <= bytesMax, held == own || held + count <= bytesPerSender else { return false }
            if case .network = sender, table.bytesOfAnonymous + count > bytesOfAnonymous { return false }
            table.add(count, for: sender)
            return true
        }
    }

    /// - Parameter count: Bytes; fewer than 0 are given back.
    fileprivate func add(_ count: Int, for sender: RequestBudgets.Sender) { table.withLock { $0.add(count, for: sender) } }

    /// What one request takes, or its response. It ends with its last reference at the latest.
    package final class Lease: Sendable {
        private let memory: RequestMemory
        private let sender: RequestBudgets.Sender
        private let bytes = Mutex(0)

        fileprivate init(_ memory: RequestMemory, _ sender: RequestBudgets.Sender) {
            self.memory = memory
            self.sender = sender
        }

        deinit { end() }

        /// - Throws: `WireError` with `.tryAgainLater` without room. Bytes that were taken before are held until ``end()``.
        func take(_ count: Int) throws(WireError) {
            guard memory.take(count, beside: bytes.withLock { $0 }, for: sender) else {
                throw WireError(.tryAgainLater, "the server has no room for the request now", retryAfter: 1)
            }
            bytes.withLock { $0 += count }
        }

        /// For bytes that cannot be dropped.
        func takeBeyondTheLimit(_ count: Int) {
            memory.add(count, for: sender)
            bytes.withLock { $0 += count }
        }

        /// Gives back a part of what was taken.
        package func giveBack(_ count: Int) {
            let held = bytes.withLock { bytes in
                let part = min(bytes, count)
                bytes -= part
                return part
            }
            if held > 0 { memory.add(-held, for: sender) }
        }

        package func end() {
            let held = bytes.withLock { bytes in
                defer { bytes = 0 }
                return bytes
            }
            if held > 0 { memory.add(-held, for: sender) }
        }
    }
}

extension ServicePath.Operation {
    /// Bytes of a request's body at most. Only records are long.
    func bodyBytes(_ limits: Limits, isAnonymous: Bool) -> Int {
        let most = self == .modifyRecords ? limits.requestBodyBytes : min(limits.shortBodyBytes, limits.requestBodyBytes)
        return isAnonymous ? min(limits.anonymousBodyBytes, most) : most
    }
}

extension CloudService {
    /// Reads a whole body and makes sure that it can be decoded in the memory there is.
    ///
    /// A body takes memory as it arrives, not when its length is announced. A time limit ends slow bodies.
    ///
    /// - Throws: `WireError` with `.quotaExceeded` for more than `limit` bytes, `.badRequest` for more values than
    ///   `Limits.valuesPerRequest`, `.tryAgainLater` without room, and for a body that takes too long.
    func collect(_ request: ServiceRequest, atMost limit: Int, _ lease: RequestMemory.Lease) async throws -> [UInt8] {
        func tooLarge() -> WireError {
            WireError(.quotaExceeded, "a request of this kind has at most \(limit) bytes", nativeCode: .limitExceeded)
        }
        let announced = request.header("content-length").flatMap(Int.init)
        if let announced, announced > limit { throw tooLarge() }
        let body: [UInt8]
        switch request.body {
        case .bytes(let bytes):
            guard bytes.count <= limit else { throw tooLarge() }
            try lease.take(bytes.count)
            body = bytes
        case .stream(let pieces):
            var bytes: [UInt8] = []
            // Pages of the memory are taken as they are written to.
            bytes.reserveCapacity(max(announced ?? 0, 0))
            let (start, patience) = (ContinuousClock.now, Self.patience(with: announced ?? limit))
            for try await piece in pieces {
                guard bytes.count + piece.count <= limit else { throw tooLarge() }
                guard ContinuousClock.now - start <= patience else {
                    throw WireError(.tryAgainLater, "the body arrives too slowly", retryAfter: 1)
                }
                try lease.take(piece.count)
                bytes.append(contentsOf: piece)
            }
            body = bytes
        }
        let values = Self.valuesAtMost(in: body)
        guard values <= engine.limits.valuesPerRequest else {
            throw WireError(
                .badRequest, "a request has at most \(engine.limits.valuesPerRequest) values in objects and lists",
                nativeCode: .limitExceeded)
        }
        // Lists of operations and filters are shorter by limits of their own.
        let elementsMax = max(engine.limits.elementsPerList, Self.otherElementsMax)
        if values > elementsMax, JSONShape.longestList(in: body) > elementsMax {
            throw WireError(.badRequest, "a list has at most \(elementsMax) elements", nativeCode: .limitExceeded)
        }
        try lease.take(values * RequestMemory.bytesPerValue)
        return body
    }

    /// The time that a body may take to arrive: two minutes, and a second for each 2,000 bytes.
    private static func patience(with bytes: Int) -> Duration { .seconds(120 + bytes / 2000) }

    /// Elements at most of lists that aren't values of records.
    private static let otherElementsMax = 10_000

    /// Members and elements that a JSON text may have: each comes after one of three signs, which texts may have as well.
    static func valuesAtMost(in body: [UInt8]) -> Int {
        body.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return 0 }
            var count = 0, position = 0
            while position + 8 <= bytes.count {
                count += EightBytes(base, at: position).separatorCount
                position += 8
            }
            let rest = bytes[position...].count { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") }
            return count + rest
        }
    }
}
