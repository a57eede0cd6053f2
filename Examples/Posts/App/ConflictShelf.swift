// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// Values of posts and tags that lost against a concurrent change, from the container's conflict log.
@MainActor final class ConflictShelf {
    private let container: NSPersistentCloudKitContainer
    private let library: PostLibrary
    private let feed: PostFeed
    private var numbers: [NSPersistentCloudKitContainer.Conflict.ID: Int] = [:]
    private var shown: [Int: NSPersistentCloudKitContainer.Conflict] = [:]

    init(_ container: NSPersistentCloudKitContainer, _ library: PostLibrary, _ feed: PostFeed) {
        self.container = container
        self.library = library
        self.feed = feed
    }

    /// Reads the log, and sends it to the pages.
    func refresh() {
        // A log that cannot be read has no entries to show; sync reports the file's error.
        let conflicts = (try? container.conflicts()) ?? []
        shown = [:]
        var messages: [ConflictMessage] = []
        for conflict in conflicts {
            guard let message = message(of: conflict) else { continue }
            shown[message.id] = conflict
            messages.append(message)
        }
        feed.show(messages)
    }

    /// Sets the losing value again, and saves.
    ///
    /// - Throws: ``PostMissing`` for an entry that is gone.
    func restore(_ id: Int) throws {
        guard let conflict = shown[id] else { throw PostMissing() }
        try container.restoreLosingValue(of: conflict, in: container.viewContext)
        try library.save()
        try dismiss(id)
    }

    /// Removes an entry from the log: the present value stays.
    ///
    /// - Throws: ``PostMissing`` for an entry that is gone.
    func dismiss(_ id: Int) throws {
        guard let conflict = shown[id] else { throw PostMissing() }
        try container.forgetConflicts([conflict])
        refresh()
    }

    /// nil for an entry without two texts to choose from: pieces of collaborative texts, deleted objects, equal values.
    private func message(of conflict: NSPersistentCloudKitContainer.Conflict) -> ConflictMessage? {
        guard conflict.entityName == "Post" || conflict.entityName == "Tag", let lost = conflict.losingValue as? String,
            let id = conflict.objectID, let object = try? container.viewContext.existingObject(with: id)
        else { return nil }
        let kept = object.value(forKey: conflict.propertyName) as? String ?? ""
        guard kept != lost else { return nil }
        let number = numbers[conflict.id] ?? numbers.count + 1
        numbers[conflict.id] = number
        return ConflictMessage(
            id: number, post: (object as? Post)?.shortID, property: conflict.propertyName, kept: kept, lost: lost,
            isOwn: conflict.winner == .valueSetHere, date: conflict.date.timeIntervalSince1970 * 1000)
    }
}
