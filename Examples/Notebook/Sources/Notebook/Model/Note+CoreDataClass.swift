// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

@objc(Note)
public class Note: Entry {
    @objc(NotePriority) public enum Priority: Int16, Codable {
        case low = -1
        case normal = 0
        case high = 1
    }

    /// A wrapper over a scalar attribute.
    public var priority: Priority {
        get { Priority(rawValue: priorityValue) ?? .normal }
        set { priorityValue = newValue.rawValue }
    }

    /// An accessor written by hand over the primitive value.
    public var text: String? {
        get {
            willAccessValue(forKey: "text")
            defer { didAccessValue(forKey: "text") }
            return primitiveText
        }
        set {
            willChangeValue(forKey: "text")
            primitiveText = newValue
            didChangeValue(forKey: "text")
            wordCount = Int64((newValue ?? "").split(separator: " ").count)
        }
    }

    @NSManaged private var primitiveText: String?

    @objc public var summary: String { "\(title): \(wordCount) words" }

    @objc(noteWithTitle:context:)
    @discardableResult public class func make(title: String, in context: NSManagedObjectContext) -> Note {
        let note = Note(context: context)
        note.title = title
        return note
    }

    enum ValidationError: Error { case shouting }

    public override func validateForInsert() throws {
        try super.validateForInsert()
        if title.count > 1, title == title.uppercased() { throw ValidationError.shouting }
    }
}
