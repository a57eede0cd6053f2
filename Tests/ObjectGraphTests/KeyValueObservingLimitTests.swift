// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import Testing

private typealias Song = ObservedSong

/// Observations that report nothing, where Apple's would.
@Suite @MainActor struct KeyValueObservingLimitTests {
    @Test func stateFlagsReportNothing() throws {
        let context = try Records.container().viewContext
        let song = Song(context: context)
        try context.save()
        nonisolated(unsafe) var reports: [String] = []
        let observations = [
            song.observe(\.hasChanges) { _, _ in reports.append("hasChanges") },
            song.observe(\.isUpdated) { _, _ in reports.append("isUpdated") },
            song.observe(\.isDeleted) { _, _ in reports.append("isDeleted") },
            song.observe(\.title, changeHandler: { _, _ in reports.append("title") }),
        ]
        song.title = "a"
        #expect(song.hasChanges)
        context.delete(song)
        context.processPendingChanges()
        withExtendedLifetime(observations) {}
        #expect(reports == ["title"])
    }

    @Test func anObjectThatLeavesItsContextIsSilent() throws {
        let context = try Records.container().viewContext
        let (song, other) = (Song(context: context), Song(context: context))
        (song.title, other.title) = ("a", "b")
        try context.save()
        nonisolated(unsafe) var reports = 0
        let observations = [song, other].map { $0.observe(\.title, options: [.old, .new]) { _, _ in reports += 1 } }
        context.delete(song)
        try context.save()
        #expect(song.managedObjectContext == nil)
        song.title = "c"
        context.reset()
        withExtendedLifetime(observations) {}
        #expect(reports == 0)
    }

    @Test func manyValuesSetAtOnceHaveNoPriorNotification() throws {
        let context = try Records.container().viewContext
        let song = Song(context: context)
        song.title = "a"
        try context.save()
        nonisolated(unsafe) var priors: [Bool] = []
        let observation = song.observe(\.title, options: [.prior]) { _, change in priors.append(change.isPrior) }
        song.title = "b"
        #expect(priors == [true, false])
        priors = []
        context.refresh(song, mergeChanges: false)
        withExtendedLifetime(observation) {}
        #expect(priors == [false])
    }
}
