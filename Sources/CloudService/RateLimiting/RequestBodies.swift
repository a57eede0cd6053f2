// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Reads the bodies of requests within limits and memory.
struct RequestBodies: Sendable {
    let limits: Limits
    let memory: RequestMemory

    /// Reads a whole body and makes sure that it can be decoded in the memory there is.
    ///
    /// A body takes memory as it arrives, not when its length is announced. A time limit ends slow bodies.
    ///
    /// - Throws: `WireError` with `.quotaExceeded` for more than `limit` bytes, `.badRequest` for more values than
    ///   `Limits.valuesPerRequest` and for ``CombiningMarks`` in excess, `.tryAgainLater` without room, and for a body that takes too long.
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
        guard values <= limits.valuesPerRequest else {
            throw WireError(
                .badRequest, "a request has at most \(limits.valuesPerRequest) values in objects and lists",
                nativeCode: .limitExceeded)
        }
        // Lists of operations and filters are shorter by limits of their own.
        let elementsMax = max(limits.elementsPerList, Self.otherElementsMax)
        if values > elementsMax, JSONShape.longestList(in: body) > elementsMax {
            throw WireError(.badRequest, "a list has at most \(elementsMax) elements", nativeCode: .limitExceeded)
        }
        guard !CombiningMarks.areExcessive(inJSON: body) else {
            throw WireError(
                .badRequest, "a text has at most \(CombiningMarks.inARowMax) combining marks in a row", nativeCode: .limitExceeded)
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
