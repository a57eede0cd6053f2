// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

@testable import CloudService

/// Bytes that differ from the file's show which ones a read returns.
@Suite struct PrefetchedReaderTests {
    private struct Numbers: AssetReader {
        let size: Int64 = 6

        func read(at offset: Int64, count: Int) async throws -> [UInt8] { Array((0..<6).dropFirst(Int(offset)).prefix(count)) }
    }

    private static func reader() -> PrefetchedReader { PrefetchedReader(Numbers(), [11, 12], at: 1) }

    @Test func theFirstReadReturnsThePrefetchedBytes() async throws {
        let reader = Self.reader()
        #expect(reader.size == 6)
        #expect(try await reader.read(at: 1, count: 2) == [11, 12])
        #expect(try await reader.read(at: 3, count: 2) == [3, 4])
        #expect(try await reader.read(at: 1, count: 2) == [1, 2], "they are released")
    }

    @Test func aLongerReadGoesOnInTheFile() async throws {
        #expect(try await Self.reader().read(at: 1, count: 4) == [11, 12, 3, 4])
        #expect(try await Self.reader().read(at: 1, count: 9) == [11, 12, 3, 4, 5])
    }

    @Test func aShorterReadHasNoMore() async throws {
        #expect(try await Self.reader().read(at: 1, count: 1) == [11])
    }

    @Test func aReadAtAnotherOffsetIsOfTheFile() async throws {
        #expect(try await Self.reader().read(at: 0, count: 3) == [0, 1, 2])
        #expect(try await Self.reader().read(at: 2, count: 1) == [2])
    }
}
