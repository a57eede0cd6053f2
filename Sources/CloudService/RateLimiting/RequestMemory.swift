// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Synchronization

/// Memory that requests take, from the announcement of their bodies until they are answered. It is decided before anything is read, and
/// again before anything is decoded.
///
/// Invariant: all leases together hold at most ``bytesMax``. A sender with a lease gets no more than
/// ``bytesPerSender``, so that one cannot take the room of all.
final class RequestMemory: Sendable {
    /// Bytes of a decoded value of a JSON text at most, except for a few kinds of objects.
    static let bytesPerValue = 128

    private struct Table {
        var bytes = 0
        var senders: [String: Int] = [:]
    }

    let bytesMax: Int
    var bytesPerSender: Int { bytesMax / 4 }
    private let table = Mutex(Table())

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Bytes that requests take now.
    var bytes: Int { table.withLock { $0.bytes } }

    func lease(for sender: String) -> Lease { Lease(self, sender) }

    fileprivate func take(_ bytes: Int, for sender: String) -> Bool {
        table.withLock { table in
            let held = table.senders[sender, default: 0]
            guard table.bytes + bytes <= bytesMax, held == 0 || held + bytes <= bytesPerSender else { return false }
            table.bytes += bytes
            table.senders[sender] = held + bytes
            return true
        }
    }

    fileprivate func giveBack(_ bytes: Int, of sender: String) {
        table.withLock { table in
            table.bytes -= bytes
            let held = table.senders[sender, default: 0] - bytes
            table.senders[sender] = held > 0 ? held : nil
        }
    }

    /// What one request takes.
    final class Lease: Sendable {
        private let memory: RequestMemory
        private let sender: String
        private let bytes = Mutex(0)

        fileprivate init(_ memory: RequestMemory, _ sender: String) {
            self.memory = memory
            self.sender = sender
        }

        /// - Throws: `WireError` with `.tryAgainLater` without room. Bytes that were taken before are held until ``end()``.
        func take(_ count: Int) throws(WireError) {
            guard memory.take(count, for: sender) else {
                throw WireError(.tryAgainLater, "the server has no room for the request now", retryAfter: 1)
            }
            bytes.withLock { $0 += count }
        }

        func end() {
            let held = bytes.withLock { bytes in
                defer { bytes = 0 }
                return bytes
            }
            if held > 0 { memory.giveBack(held, of: sender) }
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
    /// - Throws: `WireError` with `.quotaExceeded` for more than `limit` bytes, `.badRequest` for more values than
    ///   `Limits.valuesPerRequest`, `.tryAgainLater` without room.
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
            if let announced { try lease.take(max(announced, 0)) }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(max(announced ?? 0, 0))
            for try await piece in pieces {
                guard bytes.count + piece.count <= limit else { throw tooLarge() }
                if announced == nil { try lease.take(piece.count) }
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
