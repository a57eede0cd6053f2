// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudWire
    import Testing

    @testable import CloudEnginePostgres

    /// Finds the changes of other processes that had no notification.
    @Suite struct PushCounterTests {
        private let garden = Partition(containerIdentifier: "app", environment: .development, owner: "_mia")

        /// - Returns: The number before each silent change, for each comparison.
        private func silent(_ comparisons: [(counter: Int64, announced: Int64?)]) -> [Int64?] {
            var counters = PushCounters()
            return comparisons.map { comparison in
                let silent = counters.silentChanges(
                    in: [garden], [PartitionKey(garden).part: comparison.counter],
                    announced: comparison.announced.map { [garden: $0] } ?? [:])
                return silent.first?.change
            }
        }

        @Test func whatWasThereBeforeIsNotNew() { #expect(silent([(7, nil), (7, nil), (7, nil)]) == [nil, nil, nil]) }

        @Test func aChangeWithoutANotificationIsFoundAtTheSecondComparison() {
            #expect(silent([(1, nil), (2, nil), (2, nil), (2, nil)]) == [nil, nil, 1, nil])
        }

        @Test func anAnnouncedChangeIsNotRepeated() {
            #expect(silent([(1, nil), (2, 2), (2, nil), (2, nil)]) == [nil, nil, nil, nil])
        }

        @Test func aLateNotificationIsEnough() { #expect(silent([(1, nil), (2, nil), (2, 2), (2, nil)]) == [nil, nil, nil, nil]) }

        /// The change right behind an announced one was lost when its notification was.
        @Test func aChangeBehindAnAnnouncedOneIsFound() {
            #expect(silent([(1, nil), (3, 2), (3, nil), (3, nil)]) == [nil, nil, 2, nil])
            #expect(silent([(1, nil), (2, nil), (3, 2), (3, nil), (3, nil)]) == [nil, nil, nil, 2, nil])
            #expect(silent([(3, 2), (3, nil), (3, nil)]) == [nil, 2, nil], "also at the first comparison")
        }
    }
#endif
