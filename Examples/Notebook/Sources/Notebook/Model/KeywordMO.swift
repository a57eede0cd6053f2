// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

public class KeywordMO: NSManagedObject, Identifiable {
    @NSManaged public var word: String?
    @NSManaged public var notes: NSSet?

    static func find(_ word: String, in context: NSManagedObjectContext) throws -> KeywordMO? {
        let request = NSFetchRequest<KeywordMO>(entityName: "Keyword")
        request.predicate = NSPredicate(format: "%K ==[c] %@", "word", word)
        request.fetchLimit = 1
        return try context.fetch(request).first
    }
}
