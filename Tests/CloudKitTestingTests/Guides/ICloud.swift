// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation

/// Notes of an app in iCloud: `notes TEXT` adds one.
struct ICloudNotes {
    static let identifier = "iCloud.org.example.notes"

    static func main(_ arguments: [String]) async throws {
        let folder = FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".notes")
        guard let apiToken = ProcessInfo.processInfo.environment["NOTES_API_TOKEN"] else {
            return print("Set NOTES_API_TOKEN to the API token of the CloudKit Console.")
        }
        CKContainer.configure(
            .iCloud(
                apiToken: .init(apiToken), sessionFile: folder.appendingPathComponent("session"), environment: .production),
            for: identifier)
        let container = CKContainer(identifier: identifier)
        if try !container.isSignedIn { try await signIn(to: container) }

        let notes = try open(folder.appendingPathComponent("Notes.sqlite"))
        if let text = arguments.first { try await notes.write(text) }
        do {
            try await notes.sync(timeout: .seconds(120))
        } catch let error as CKError where error.code == .notAuthenticated {
            // The session has expired. Unsent changes stay in the store.
            try await signIn(to: container)
            try await notes.sync(timeout: .seconds(120))
        }
        for text in try await notes.texts() { print(text) }
    }

    /// Shows the address of the sign-in page, and reads the address to which the browser goes then.
    static func signIn(to container: CKContainer) async throws {
        print("Sign in at \(try await container.signInURL()), then paste the address of the page that follows:")
        guard let line = readLine(), let url = URL(string: line), let token = CKContainer.webAuthToken(inCallback: url) else {
            throw CKError(.notAuthenticated)
        }
        try container.signIn(webAuthToken: token)
    }

    static func open(_ url: URL) throws -> NSPersistentCloudKitContainer {
        let container = NSPersistentCloudKitContainer(name: "Notes", managedObjectModel: notesModel)
        let description = NSPersistentStoreDescription(url: url)
        description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(containerIdentifier: identifier)
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = failure ?? error }
        if let failure { throw failure }
        return container
    }
}
