// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import TarnMirror

/// Values of posts and tags that lost against a concurrent change, from the conflict log of a device.
@MainActor final class ConflictShelf {
    private let device: PostsDevice
    private let library: PostLibrary
    private let feed: PostFeed
    private var entries: [LosingValue] = []
    private var numbers: [LosingValue.ID: Int] = [:]
    private var shown: [Int: LosingValue] = [:]

    init(_ device: PostsDevice, _ library: PostLibrary, _ feed: PostFeed) {
        self.device = device
        self.library = library
        self.feed = feed
    }

    /// Reads the log, and sends it to the pages.
    func refresh() async {
        // A log that cannot be read has no entries to show; sync reports the file's error.
        entries = (try? await device.losingValues()) ?? []
        show()
    }

    /// Sends the entries with the present values of their objects to the pages. The log is read if its number of entries changed.
    ///
    /// - Parameter count: The number of entries.
    func refresh(count: Int) async {
        if count == entries.count { show() } else { await refresh() }
    }

    private func show() {
        shown = [:]
        var messages: [ConflictMessage] = []
        for entry in entries {
            guard let message = message(of: entry) else { continue }
            shown[message.id] = entry
            messages.append(message)
        }
        feed.show(messages)
    }

    /// Sets the losing value again, and saves.
    ///
    /// - Throws: ``PostMissing`` for an entry that is gone.
    func restore(_ id: Int) async throws {
        guard let entry = shown[id] else { throw PostMissing() }
        try entry.restore(device.container.viewContext)
        try library.save()
        try await dismiss(id)
    }

    /// Removes an entry from the log: the present value stays.
    ///
    /// - Throws: ``PostMissing`` for an entry that is gone.
    func dismiss(_ id: Int) async throws {
        guard let entry = shown[id] else { throw PostMissing() }
        try await entry.forget()
        await refresh()
    }

    /// nil for an entry without two texts to choose from: pieces of collaborative texts, deleted objects, equal values.
    private func message(of entry: LosingValue) -> ConflictMessage? {
        guard entry.entity == "Post" || entry.entity == "Tag", let lost = entry.text, let id = entry.objectID,
            let object = try? device.container.viewContext.existingObject(with: id)
        else { return nil }
        let kept = object.value(forKey: entry.property) as? String ?? ""
        guard kept != lost else { return nil }
        let number = numbers[entry.id] ?? numbers.count + 1
        numbers[entry.id] = number
        return ConflictMessage(
            id: number, post: (object as? Post)?.shortID, property: entry.property, kept: kept, lost: lost, isOwn: entry.isOwnWinner,
            date: entry.date.timeIntervalSince1970 * 1000)
    }
}

/// An entry of the conflict log of a container or a mirror.
struct LosingValue: Identifiable, Sendable {
    enum ID: Hashable, Sendable {
        case container(NSPersistentCloudKitContainer.Conflict.ID)
        case mirror(TarnMirror.Conflict.ID)
    }

    let id: ID
    let entity: String
    let property: String
    /// nil for a value that is no text.
    let text: String?
    /// nil for a deleted object.
    let objectID: NSManagedObjectID?
    /// Whether the value lost against one of this device.
    let isOwnWinner: Bool
    let date: Date
    /// Sets the value again in a context, on its queue.
    let restore: @MainActor (NSManagedObjectContext) throws -> Void
    /// Removes the entry from the log.
    let forget: @Sendable () async throws -> Void
}

extension PostsDevice {
    func losingValues() async throws -> [LosingValue] {
        switch self {
        case .cloud(let container, _):
            try container.conflicts().map { conflict in
                LosingValue(
                    id: .container(conflict.id), entity: conflict.entityName, property: conflict.propertyName,
                    text: conflict.losingValue as? String, objectID: conflict.objectID, isOwnWinner: conflict.winner == .valueSetHere,
                    date: conflict.date, restore: { try container.restoreLosingValue(of: conflict, in: $0) },
                    forget: { try container.forgetConflicts([conflict]) })
            }
        case .mirrored(_, let mirror):
            try await mirror.conflicts().map { conflict in
                LosingValue(
                    id: .mirror(conflict.id), entity: conflict.entityName, property: conflict.propertyName,
                    text: conflict.losingValue as? String, objectID: conflict.objectID, isOwnWinner: conflict.winner == .valueSetHere,
                    date: conflict.date, restore: { try mirror.restoreLosingValue(of: conflict, in: $0) },
                    forget: { try await mirror.forgetConflicts([conflict]) })
            }
        }
    }
}
