// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import MirroringCore
import Testing
import ValueSimulation

@Suite struct TimeOrderedNamesTests {
    @Test func newRecordNamesAreOrderedUUIDsOfVersionSeven() throws {
        var names = TimeOrderedNames()
        var random = SeededRandom(seed: 1)
        var made: [String] = []
        // A clock that stands, runs, goes back by days, and runs again.
        for time: UInt64 in [
            1_900_000_000_000, 1_900_000_000_000, 1_900_000_000_001, 1_800_000_000_000, 1_800_000_000_001, 1_900_000_000_002,
        ] {
            for _ in 0..<1000 { made.append(names.next(at: time, random: random.next())) }
        }
        #expect(made == made.sorted())
        #expect(Set(made).count == made.count)
        for name in made.prefix(10) + made.suffix(10) {
            let id = try #require(UUID(uuidString: name))
            #expect(id.uuidString == name)
            #expect(id.uuid.6 >> 4 == 7)
            #expect(id.uuid.8 >> 6 == 0b10)
        }
    }

    @Test func timeAndRandomBitsFollowTheUUIDStandard() {
        var names = TimeOrderedNames()
        #expect(names.next(at: 0x0123_4567_89AB, random: .max) == "01234567-89AB-7000-800F-FFFFFFFFFFFF")
        #expect(names.next(at: 0x0123_4567_89AB, random: 0) == "01234567-89AB-7000-8010-000000000000")
    }

    /// More names in a millisecond than there are numbers go on in the next one.
    @Test func anExhaustedMillisecondContinuesInTheNext() {
        var names = TimeOrderedNames(millisecond: 5, number: (1 << 22) - 3)
        #expect(names.next(at: 5, random: 0) == "00000000-0005-7FFF-BFE0-000000000000")
        #expect(names.next(at: 5, random: 0) == "00000000-0005-7FFF-BFF0-000000000000")
        #expect(names.next(at: 5, random: 0) == "00000000-0006-7000-8000-000000000000")
    }
}
