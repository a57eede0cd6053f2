// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

extension Note {
    @nonobjc public class func fetchRequest() -> NSFetchRequest<Note> {
        return NSFetchRequest<Note>(entityName: "Note")
    }

    @NSManaged public var aliases: [String]?
    @NSManaged public var isPinned: Bool
    @NSManaged public var priorityValue: Int16
    @NSManaged public var title: String
    @NSManaged public internal(set) var wordCount: Int64
    @NSManaged public var keywords: Set<KeywordMO>?
}

// MARK: Generated accessors for keywords
extension Note {
    @objc(addKeywordsObject:)
    @NSManaged public func addToKeywords(_ value: KeywordMO)

    @objc(removeKeywordsObject:)
    @NSManaged public func removeFromKeywords(_ value: KeywordMO)

    @objc(addKeywords:)
    @NSManaged public func addToKeywords(_ values: NSSet)

    @objc(removeKeywords:)
    @NSManaged public func removeFromKeywords(_ values: NSSet)
}
