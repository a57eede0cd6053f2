// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

// The code of Documentation/Migration.md. `StagedMigrationTests` runs the same calls.

/// The stages from the first to the third version of a model. The second stage splits a name into two attributes.
func stagesOfPosts(in bundle: Bundle, checksums: [String]) -> NSStagedMigrationManager {
    let split = NSCustomMigrationStage(
        migratingFrom: NSManagedObjectModelReference(name: "Posts 2", in: bundle, versionChecksum: checksums[1]),
        to: NSManagedObjectModelReference(name: "Posts 3", in: bundle, versionChecksum: checksums[2]))
    split.didMigrateHandler = { manager, _ in
        guard let context = manager.container?.newBackgroundContext() else { return }
        try context.performAndWait {
            for post in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Post")) {
                let words = (post.value(forKey: "author") as? String ?? "").split(separator: " ", maxSplits: 1).map(String.init)
                post.setValue(words.first, forKey: "firstName")
                post.setValue(words.dropFirst().first, forKey: "lastName")
            }
            try context.save()
        }
    }
    return NSStagedMigrationManager([NSLightweightMigrationStage([checksums[0], checksums[1]]), split])
}

func migrateInStages(_ description: NSPersistentStoreDescription, checksums: [String]) {
    description.setOption(
        stagesOfPosts(in: .main, checksums: checksums), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
}
