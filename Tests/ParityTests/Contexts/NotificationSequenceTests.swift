// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// `NotificationCenter.notifications(named:object:)`, as apps observe contexts and stores with it.
@Suite struct NotificationSequenceTests {
    private static let name = Notification.Name("NotificationSequenceTests")

    @Test func notificationsOfANameAndASenderArriveInOrder() async {
        let center = NotificationCenter()
        let (sender, stranger) = (NSObject(), NSObject())
        var iterator = center.notifications(named: Self.name, object: sender).makeAsyncIterator()
        for number in 0..<50 {
            center.post(name: Self.name, object: sender, userInfo: ["number": number])
            center.post(name: Self.name, object: stranger, userInfo: ["number": -1])
            center.post(name: Notification.Name("another"), object: sender)
        }
        var numbers: [Int?] = []
        for _ in 0..<50 { numbers.append(await iterator.next()?.userInfo?["number"] as? Int) }
        #expect(numbers == Array(0..<50))
    }

    @Test func eachIteratorObservesUntilItIsReleased() async {
        let center = NotificationCenter()
        let sequence = center.notifications(named: Self.name)
        weak var released: NSObject?
        do {
            var first = sequence.makeAsyncIterator()
            var second = sequence.makeAsyncIterator()
            let object = NSObject()
            released = object
            center.post(name: Self.name, object: object)
            #expect(await first.next()?.object as? NSObject === object)
            #expect(await second.next()?.object as? NSObject === object)
            // The next notification stays unread: its buffer holds the sender until the iterator is released.
            center.post(name: Self.name, object: object)
        }
        #expect(released == nil)
        center.post(name: Self.name, object: nil)
    }

    @Test func aCancelledTaskEndsItsLoop() async {
        let center = NotificationCenter()
        let task = Task {
            var count = 0
            for await _ in center.notifications(named: Self.name) { count += 1 }
            return count
        }
        task.cancel()
        #expect(await task.value == 0)
    }

    @MainActor @Test func anAsyncSequenceDeliversDidSaveNotifications() async throws {
        let container = try Library.container()
        let context = container.viewContext
        var iterator = NotificationCenter.default.notifications(named: .NSManagedObjectContextDidSave, object: context).makeAsyncIterator()
        _ = Author(context: context)
        try context.save()
        let note = await iterator.next()
        #expect((note?.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>)?.count == 1)
    }
}
