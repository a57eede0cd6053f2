// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport
import Testing

@Suite struct BackoffTests {
    let backoff = Backoff(firstSeconds: 1, longestSeconds: 300)

    @Test func delaysDoubleUpToTheLongest() {
        let seconds = [1, 2, 3, 8, 9, 10, 64, Int.max].map { backoff.seconds(attempt: $0, jitter: 1) }
        #expect(seconds == [1, 2, 4, 128, 256, 300, 300, 300])
        #expect(backoff.delay(attempt: 3, jitter: 1) == .seconds(4))
    }

    @Test(arguments: [(0.0, 2.0), (0.5, 3.0), (1.0, 4.0), (-1.0, 2.0), (7.0, 4.0)])
    func jitterSpreadsOverTheUpperHalf(_ jitter: Double, _ seconds: Double) {
        #expect(backoff.seconds(attempt: 3, jitter: jitter) == seconds)
    }

    @Test func jitterIsUnderTheCap() {
        let capped = backoff.capped(at: 5)
        #expect([0, 0.5, 1].map { capped.seconds(attempt: 100, jitter: $0) } == [2.5, 3.75, 5])
        #expect(capped.seconds(attempt: 2, jitter: 1) == 2)
        #expect(backoff.capped(at: 1000) == backoff)
    }

    @Test func attemptsAreCountedFromOne() async {
        await #expect(processExitsWith: .failure) { _ = Backoff(firstSeconds: 1, longestSeconds: 2).seconds(attempt: 0, jitter: 0) }
    }
}
