// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation

/// The app's Core Data stack: a store for each database of the server.
///
/// An app that syncs the posts of one user needs the first store alone, and differs from an app without sync in one line, which has
/// `NSPersistentContainer` there. The environment has the address of the server and the user's token: `TARN_SERVER` and `TARN_TOKEN`.
@MainActor enum PostsStack {
    enum Store: String, CaseIterable {
        /// Posts of this user, shared ones included.
        case own = "Posts"
        /// Posts that others share with this user.
        case shared = "Shared"
        /// Notices of all users.
        case board = "Board"

        /// The first letter of identifiers of its objects on the page.
        var letter: Character {
            switch self {
            case .own: "p"
            case .shared: "s"
            case .board: "b"
            }
        }

        init?(_ store: NSPersistentStore?) {
            guard let name = store?.url?.deletingPathExtension().lastPathComponent else { return nil }
            self.init(rawValue: name)
        }
    }

    /// - Parameter folder: Where the stores go.
    /// - Throws: An error with one sentence that explains why the store could not be opened.
    static func load(storeIn folder: URL) throws -> NSPersistentCloudKitContainer {
        let container = NSPersistentCloudKitContainer(name: "Posts")
        let identifier = container.persistentStoreDescriptions.first?.cloudKitContainerOptions?.containerIdentifier ?? "iCloud.posts"
        container.persistentStoreDescriptions = Store.allCases.map { store in
            let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("\(store.rawValue).sqlite"))
            description.configuration = store == .board ? "Board" : "Posts"
            let options = NSPersistentCloudKitContainerOptions(containerIdentifier: identifier)
            options.databaseScope =
                switch store {
                case .own: .private
                case .shared: .shared
                case .board: .public
                }
            description.cloudKitContainerOptions = options
            return description
        }

        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = failure ?? error }
        if let failure { throw failure }

        container.viewContext.automaticallyMergesChangesFromParent = true
        container.viewContext.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
        return container
    }
}

extension NSPersistentContainer {
    func store(_ kind: PostsStack.Store) -> NSPersistentStore? {
        persistentStoreCoordinator.persistentStores.first { PostsStack.Store($0) == kind }
    }
}
