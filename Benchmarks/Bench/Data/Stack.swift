// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// Core Data's stack over one file, as an app would set it up.
final class Stack {
    let container: NSPersistentContainer

    struct Options {
        var tracksHistory = false
        /// The store's own choice unless said.
        var synchronous: String?
    }

    /// - Throws: The error with which the store could not be opened.
    init(_ file: URL, _ options: Options = Options()) throws {
        container = NSPersistentContainer(name: "Bench")
        let description = NSPersistentStoreDescription(url: file)
        if options.tracksHistory { description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey) }
        if let synchronous = options.synchronous { description.setValue(synchronous as NSString, forPragmaNamed: "synchronous") }
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { failure = $1 }
        if let failure { throw failure }
    }

    func newContext() -> NSManagedObjectContext { container.newBackgroundContext() }

    func close() throws {
        let coordinator = container.persistentStoreCoordinator
        for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
}

extension Post {
    /// - Precondition: The caller is on the context's queue.
    static func insert(_ row: PostRow, into context: NSManagedObjectContext) {
        Post(context: context).fill(row)
    }

    func fill(_ row: PostRow) {
        title = row.title
        content = row.content
        timestamp = Date(timeIntervalSinceReferenceDate: row.timestamp)
        uuid = row.uuid
    }

    static func all() -> NSFetchRequest<Post> { NSFetchRequest(entityName: "Post") }

    /// Something of each attribute, so that none may stay unread.
    func readEverything() -> Int {
        (title?.utf8.count ?? 0) + (content?.utf8.count ?? 0) + Int(timestamp?.timeIntervalSinceReferenceDate ?? 0)
            + Int(uuid?.uuid.0 ?? 0)
    }
}
