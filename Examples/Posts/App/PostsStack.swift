// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation
import TarnMirror

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

    private static var identifier: String { CKContainer.default().containerIdentifier ?? "iCloud.posts" }
    /// An app keeps the default of a minute, and syncs when it becomes active. A person in front of two devices shall not wait for it.
    private static let mirrorPollInterval = Duration.seconds(1)

    /// - Parameters:
    ///   - folder: Where the stores go.
    ///   - version: The version of the model. A store of an earlier one is migrated.
    /// - Throws: An error with one sentence that explains why the store could not be opened.
    static func load(storeIn folder: URL, version: AppVersion = .first) throws -> NSPersistentCloudKitContainer {
        var container = NSPersistentCloudKitContainer(name: "Posts")
        if version != .first {
            let model = try version.model(from: container.managedObjectModel)
            container = NSPersistentCloudKitContainer(name: "Posts", managedObjectModel: model)
        }
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

        try open(container)
        return container
    }

    /// The stack of an app on an iPhone: a container without CloudKit, and a mirror next to it. Apple's Core Data syncs with iCloud alone.
    ///
    /// - Throws: An error with one sentence that explains why the store could not be opened, or cannot be mirrored.
    static func loadMirrored(storeIn folder: URL, server: String, token: String) throws -> PostsDevice {
        let container = NSPersistentContainer(name: "Posts")
        let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("\(Store.own.rawValue).sqlite"))
        description.configuration = "Posts"
        description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
        description.setOption(NSNumber(value: true), forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
        container.persistentStoreDescriptions = [description]
        try open(container)
        var options = TarnMirror.Options(containerIdentifier: identifier, server: server, token: token)
        // That of the other devices: `CKContainer.Configuration` has it as its default.
        options.environment = .development
        options.pollInterval = mirrorPollInterval
        return .mirrored(container, try TarnMirror(container: container, options: options))
    }

    private static func open(_ container: NSPersistentContainer) throws {
        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = failure ?? error }
        if let failure { throw failure }

        container.viewContext.automaticallyMergesChangesFromParent = true
        container.viewContext.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
    }
}

extension NSPersistentContainer {
    func store(_ kind: PostsStack.Store) -> NSPersistentStore? {
        persistentStoreCoordinator.persistentStores.first { PostsStack.Store($0) == kind }
    }
}
