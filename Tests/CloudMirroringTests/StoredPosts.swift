// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import ManagedModel
import TestBasics

/// Reads a file of posts without sync, such as an archive.
enum StoredPosts {
    static func titles(in file: URL) throws -> Set<String> {
        try read(file) { Set(try $0.all("Post").compactMap { $0.value(forKey: "title") as? String }) }
    }

    static func read<T: Sendable>(_ file: URL, _ body: @Sendable (NSManagedObjectContext) throws -> T) throws -> T {
        let container = NSPersistentContainer(name: "Posts", managedObjectModel: NSManagedObjectModel(Posts.model))
        let description = NSPersistentStoreDescription(url: file)
        description.isReadOnly = true
        container.persistentStoreDescriptions = [description]
        try container.load()
        let context = container.newBackgroundContext()
        return try context.performAndWait { try body(context) }
    }
}
