// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

@testable import SystemSupport

@Suite struct ProcessorsTests {
    @Test func theMaskIsCounted() {
        #expect(Processors.allowed(in: "Name:\ttarn\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n") == 2)
        #expect(Processors.allowed(in: "Cpus_allowed:\t00000000,80000001\n") == 2)
        #expect(Processors.allowed(in: "Cpus_allowed:\tff,ffffffff\n") == 40)
        #expect(Processors.allowed(in: "Name:\ttarn\n") == nil)
    }

    @Test(arguments: [
        ("200000 100000\n", 2), ("150000 100000\n", 2), ("50000 100000\n", 1), ("max 100000\n", nil), ("", nil), ("100000 0\n", nil),
        ("-1\n100000\n", nil), ("250000\n100000\n", 3),
        ("9223372036854775807 1\n", Int.max),
    ])
    func aQuotaIsRoundedUp(_ text: String, _ count: Int?) { #expect(Processors.quota(in: text) == count) }

    @Test func theControlGroupAndThoseAboveItAreRead() {
        let groups = "12:cpu,cpuacct:/old\n3:cpuset:/\n0::/system.slice/tarn.service\n"
        #expect(Processors.group(in: groups, controller: "") == "/system.slice/tarn.service")
        #expect(Processors.group(in: groups, controller: "cpu") == "/old")
        #expect(Processors.group(in: "3:cpuset:/a\n", controller: "cpu") == "/")
        #expect(Processors.folders(of: "/system.slice/tarn.service") == ["", "/system.slice", "/system.slice/tarn.service"])
        #expect(Processors.folders(of: "/../..") == [""])
    }

    @Test func aProcessHasOneAtLeast() { #expect(Processors.count >= 1) }
}
