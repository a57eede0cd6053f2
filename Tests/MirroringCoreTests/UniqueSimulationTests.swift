// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import TestBasics
import Testing
import ValueSimulation

/// Three devices that create, rename and delete the same few unique objects, with pages that are cut anywhere.
@Suite struct UniqueSimulationTests {
    /// Seeds that failed once, with the rule that was missing.
    private static let lessons: [(seed: UInt64, lesson: String)] = [
        (
            582,
            "what a record says that it took over stays over it, though the other has the smaller name and its deletion is on a later page"
        ),
        (804, "the same"), (1549, "the same"), (3044, "the same"), (3654, "the same"), (3845, "the same"),
        (4057, "of two equal ones the one goes that the server has no more, whatever says that it took over what; and stays gone"),
        (6483, "what something was merged into elsewhere may have been merged here, into what stays"),
        (18852, "what was taken over by something that was never sent is taken over with it"),
        (17586, "of two that took each other over on two devices the one with the smaller name goes on, also where the other was to stay"),
        (19577, "what was merged into something that was gone already goes on by itself"),
        (
            5_012_583, "of two that took each other over the one goes on that the server has, also if the same page deletes the other"
        ), (5_006_091, "the same"), (5_012_890, "the same"), (6_030_887, "the same"),
        (7_012_646, "an object that was re-keyed has its new name when a later record of the page is merged, which refers to it"),
        (5_006_308, "an object that one device separates while another one merges it is merged: the server lists it as superseded"),
        (7_060_962, "an object that this device merged for a value that it still has stays on the list, also if another one takes it off"),
        (9_712_378, "the deletion of a superseded record waits for the survivor of the record that had superseded it"),
        (
            300_226_065,
            "what this device took off a list, while another one deleted it for that list, is merged: the update of its record failed"
        ),
        (
            600_043_929,
            "an object of a list that filled a batch was deleted for the former list: its record is updated after the list, and it is merged"
        ),
        (100_098_034, "the row of a record that arrives unchanged was not loaded, and a deleted object that it lists not merged into it"),
    ]

    @Test(arguments: lessons) func earlierFailuresStayFixed(seed: UInt64, lesson: String) {
        devicesConvergeOnOneObjectPerUniqueValue(seed: seed)
    }

    @Test(arguments: SeedPart.of(1...300 as ClosedRange<UInt64>))
    func devicesConvergeOnOneObjectPerUniqueValue(seed: UInt64) {
        #expect(UniqueWorld.violations(seed: seed) == [], "seed \(seed)")
    }
}
