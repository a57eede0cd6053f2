// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

@testable import TarnCommands

@Suite struct ProcessorsTests {
    @Test func theMaskOfTheProcessIsCounted() {
        #expect(Processors.allowed(in: "Name:\ttarn\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n") == 2)
        #expect(Processors.allowed(in: "Cpus_allowed:\t00000000,80000001\n") == 2)
        #expect(Processors.allowed(in: "Cpus_allowed:\tff,ffffffff\n") == 40)
        #expect(Processors.allowed(in: "Name:\ttarn\n") == nil)
    }

    @Test func aProcessHasOneAtLeast() { #expect(Processors.count >= 1) }
}
