// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// The notices in the public database: all users read them, and each user deletes their own.
@MainActor final class NoticeBoard: NSObject {
    private let container: NSPersistentCloudKitContainer
    private let library: PostLibrary
    private let feed: PostFeed
    private let notices: NSFetchedResultsController<Notice>

    /// - Throws: The error of a fetch.
    init(_ container: NSPersistentCloudKitContainer, _ library: PostLibrary, _ feed: PostFeed) throws {
        self.container = container
        self.library = library
        self.feed = feed
        let newestFirst: NSFetchRequest<Notice> = Notice.fetchRequest()
        newestFirst.sortDescriptors = [NSSortDescriptor(key: "timestamp", ascending: false)]
        notices = NSFetchedResultsController(
            fetchRequest: newestFirst, managedObjectContext: container.viewContext, sectionNameKeyPath: nil, cacheName: nil)
        super.init()
        notices.delegate = self
        try notices.performFetch()
        show()
    }

    func add(_ text: String) throws {
        let notice = Notice(context: container.viewContext)
        notice.text = text
        notice.author = feed.device
        notice.timestamp = Date()
        try library.save()
    }

    /// - Throws: ``PostMissing`` for a notice that is gone, or that another user wrote.
    func delete(_ id: String) throws {
        let notice = try library.object(Notice.self, id)
        guard container.canDeleteRecord(forManagedObjectWith: notice.objectID) else { throw PostMissing() }
        container.viewContext.delete(notice)
        try library.save()
    }

    private func show() {
        feed.show(
            board: (notices.fetchedObjects ?? []).map { notice in
                NoticeMessage(
                    id: notice.shortID, author: notice.author ?? "", text: notice.text ?? "",
                    timestamp: (notice.timestamp?.timeIntervalSince1970 ?? 0) * 1000,
                    isOwn: container.canDeleteRecord(forManagedObjectWith: notice.objectID))
            })
    }
}

// The controller works on the view context, which is on the main queue, and calls its delegate there.
extension NoticeBoard: @MainActor NSFetchedResultsControllerDelegate {
    func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) { show() }
}
