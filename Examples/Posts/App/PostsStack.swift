// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// The app's Core Data stack.
///
/// The first line is the only one that differs from an app without sync, where it has `NSPersistentContainer`. The
/// environment has the address of the server and the user's token: `TARN_SERVER` and `TARN_TOKEN`.
@MainActor enum PostsStack {
    /// - Parameter folder: Where the store goes.
    /// - Throws: An error with one sentence that explains why the store could not be opened.
    static func load(storeIn folder: URL) throws -> NSPersistentCloudKitContainer {
        let container = NSPersistentCloudKitContainer(name: "Posts")
        container.persistentStoreDescriptions.first?.url = folder.appendingPathComponent("Posts.sqlite")

        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = failure ?? error }
        if let failure { throw failure }

        container.viewContext.automaticallyMergesChangesFromParent = true
        container.viewContext.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
        return container
    }
}
