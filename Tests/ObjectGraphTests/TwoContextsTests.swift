// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import TestBasics
import Testing

/// Two contexts that merge each other's saves, with random operations from a seed.
///
/// Nothing may trap, every save must succeed, and whenever neither has unsaved changes both show the store's values.
@Suite struct TwoContextsTests {
    @Test(arguments: Seeds.chosen)
    func bothContextsShowTheStoresValues(_ seed: UInt64) throws {
        var world = LibraryWorld(try Library.container(), seed: seed)
        for step in 0..<100 {
            try world.step()
            let difference = try world.differenceWhenQuiet()
            #expect(difference == nil, "seed \(seed), step \(step)\n\(difference ?? "")\n\(world.trace.suffix(12).joined(separator: "\n"))")
            if difference != nil { return }
        }
    }

    /// Two children of a context over the store, one of them with a child, and another context over the store.
    @Test(arguments: Seeds.chosen)
    func nestedContextsConvergeOnceAllAreSaved(_ seed: UInt64) throws {
        var world = LibraryWorld(try Library.container(), seed: seed, parents: [nil, 0, 0, 1, nil])
        for step in 0..<60 {
            for _ in 0..<4 { try world.step() }
            if step % 2 == 0 { try world.saveAll() }
            let difference = try world.differenceWhenQuiet()
            #expect(difference == nil, "seed \(seed), step \(step)\n\(difference ?? "")\n\(world.trace.suffix(24).joined(separator: "\n"))")
            if difference != nil { return }
        }
    }

    /// The model is the list of expected states after each undo group.
    @Test(arguments: Seeds.chosen)
    func undoAndRedoReproduceEachState(_ seed: UInt64) throws {
        var world = LibraryWorld(try Library.container(), seed: seed, parents: [nil])
        // Changes of deleted objects cannot be redone.
        world.usesGoneObjects = false
        let context = world.contexts[0]
        try context.performAndWait {
            let manager = UndoManager()
            manager.groupsByEvent = false
            context.undoManager = manager
            var (states, now) = ([try world.dump(context)], 0)
            for step in 0..<80 {
                var expected: String?
                switch Int.random(in: 0..<10, using: &world.random) {
                case 0..<2 where now > 0:
                    world.trace.append("undo")
                    context.undo()
                    now -= 1
                    expected = states[now]
                case 2..<4 where now + 1 < states.count:
                    world.trace.append("redo")
                    context.redo()
                    now += 1
                    expected = states[now]
                case 4:
                    world.trace.append("save")
                    try context.save()
                    expected = states[now]
                default:
                    let undone = manager.undoCount
                    manager.beginUndoGrouping()
                    try world.change(0, context)
                    manager.endUndoGrouping()
                    if manager.undoCount > undone {
                        states = Array(states[...now]) + [try world.dump(context)]
                        now += 1
                    }
                }
                let seen = try world.dump(context)
                let isRight = expected.map { $0 == seen } ?? true
                #expect(
                    isRight,
                    "seed \(seed), step \(step)\n\(seen)\n---\n\(expected ?? "")\n\(world.trace.suffix(30).joined(separator: "\n"))")
                if !isRight { return }
            }
            try context.save()
            let difference = try world.differenceWhenQuiet()
            #expect(difference == nil, "seed \(seed)\n\(difference ?? "")")
        }
    }

    enum Seeds {
        static let chosen: [UInt64] = {
            let more = ProcessInfo.processInfo.environment["SIM_SEEDS"].flatMap { UInt64($0) } ?? 0
            return more > 24 ? Array(0..<more) : SeedPart.of(0..<24 as Range<UInt64>)
        }()
    }
}
