// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// The queues of a context's blocks, and their results.
@Suite struct ContextQueueTests {
    private struct Refusal: Error, Equatable { let number: Int }

    private func context() throws -> NSManagedObjectContext { Boards.context(.privateQueueConcurrencyType, over: try Boards.coordinator()) }

    @Test func performReturnsValuesAndThrowsErrors() async throws {
        let context = try context()
        #expect(context.performAndWait { 1 } == 1)
        #expect(throws: Refusal(number: 2)) { try context.performAndWait { throw Refusal(number: 2) } }
        #expect(await context.perform { 3 } == 3)
        #expect(await context.perform(schedule: .enqueued) { 4 } == 4)
        #expect(await context.perform(schedule: .immediate) { 5 } == 5)
        await #expect(throws: Refusal(number: 6)) { try await context.perform { throw Refusal(number: 6) } }
    }

    @Test func blocksRunInSubmissionOrder() async throws {
        let context = try context()
        // Prevents overload resolution from choosing the asynchronous form.
        func give(_ number: Int) {
            context.perform { context.userInfo["log"] = (context.userInfo["log"] as? [Int] ?? []) + [number] }
        }
        for number in 0..<20 { give(number) }
        let log = await context.perform(schedule: .enqueued) { context.userInfo["log"] as? [Int] }
        #expect(log == Array(0..<20))
    }

    @Test func performAndWaitWithinABlockRunsInline() throws {
        let context = try context()
        let log = context.performAndWait {
            var log = [1]
            context.performAndWait {
                log.append(2)
                context.performAndWait { log.append(3) }
            }
            return log + [4]
        }
        #expect(log == [1, 2, 3, 4])
    }

    @Test func aParentIsReachedFromItsChildsBlock() async throws {
        let parent = try context()
        let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        child.parent = parent
        let titles = try await child.perform {
            _ = Boards.card("child's", in: child)
            try child.save()
            return try parent.performAndWait {
                _ = Boards.card("parent's", in: parent)
                return try child.performAndWait { try child.titles() }
            }
        }
        #expect(titles == ["child's", "parent's"])
    }

    @Test func childrenOfOneParentSaveConcurrently() async throws {
        let parent = try context()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
                    child.parent = parent
                    try await child.perform {
                        for card in 0..<5 { _ = Boards.card("\(number)-\(card)", in: child) }
                        try child.save()
                    }
                }
            }
            try await group.waitForAll()
        }
        let count = try await parent.perform {
            #expect(parent.insertedObjects.count == 40)
            try parent.save()
            return try parent.count("Card")
        }
        #expect(count == 40)
    }

    @Test func theMainContextIsUsedFromOtherQueuesWithPerformAndWait() async throws {
        let main = Boards.context(.mainQueueConcurrencyType, over: try Boards.coordinator())
        try await main.perform {
            _ = Boards.card("one", in: main)
            try main.save()
        }
        let background = Boards.context(.privateQueueConcurrencyType, over: try #require(main.persistentStoreCoordinator))
        let count = try await background.perform { try main.performAndWait { try main.count("Card") } }
        #expect(count == 1)
        #expect(main.concurrencyType == .mainQueueConcurrencyType)
    }
}
