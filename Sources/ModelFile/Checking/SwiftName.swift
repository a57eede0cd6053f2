// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// What Swift and the base class allow as names.
package enum SwiftName {
    /// A letter or an underscore, then letters, digits and underscores.
    package static func isIdentifier(_ text: String) -> Bool {
        guard let first = text.first, first.isLetter || first == "_", text != "_" else { return false }
        return text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    /// The name as it is written in a declaration: in backticks when it is a keyword.
    package static func escaped(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    /// Whether a property of this name would hide, or be hidden by, something every managed object has.
    static func isMemberOfManagedObject(_ name: String) -> Bool {
        membersOfManagedObject.contains(name) || accessors.contains(name) || metatypes.contains(name)
    }

    /// `Type` and `Protocol` are legal names of classes outside of other types.
    static func cannotNameClass(_ name: String) -> Bool {
        keywords.contains(name) || classesOfTheLibrary.contains(name)
    }

    private static let keywords: Set<String> = [
        "Any", "Self", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default",
        "defer",
        "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard",
        "if",
        "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private",
        "protocol", "public", "repeat", "rethrows", "return", "self", "static", "struct", "subscript", "super",
        "switch",
        "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    ]

    private static let metatypes: Set<String> = ["Any", "Protocol", "PropertyKeys", "Self", "Type"]

    private static let classesOfTheLibrary: Set<String> = [
        "ManagedModelRegistration", "ManagedPropertyKey", "NSFetchRequest", "NSManagedObject", "NSManagedObjectContext",
        "NSManagedObjectID", "PropertyKeys",
    ]

    /// Properties and methods without arguments. Methods with arguments do not clash with a property.
    ///
    /// Source: `NSManagedObject` and `NSObject` in Apple's documentation; Xcode refuses these names too.
    /// `className` is legal off AppKit, which alone has such a member.
    private static let membersOfManagedObject: Set<String> = [
        "autorelease", "awakeFromFetch", "awakeFromInsert", "changedValues", "changedValuesForCurrentEvent",
        "copy", "dealloc", "debugDescription", "description", "didSave", "didTurnIntoFault", "entity", "faultingState",
        "fetchRequest", "hasChanges", "hasPersistentChangedValues", "hash", "hashValue", "init", "isDeleted", "isFault",
        "isInserted", "isProxy", "isUpdated", "managedObjectContext", "mutableCopy", "objectID", "objectWillChange",
        "observationInfo", "prepareForDeletion", "release", "retain", "retainCount", "self", "superclass",
        "validateForDelete", "validateForInsert", "validateForUpdate", "willSave", "willTurnIntoFault",
    ]

    /// What bodies of generated properties call.
    private static let accessors: Set<String> = {
        let kinds = [
            "string", "date", "data", "uuid", "url", "decimal", "int16", "int32", "int64", "double", "float", "bool",
            "number", "object", "objects", "orderedObjects", "transformable", "value",
        ]
        let changes = ["_addObject", "_addObjects", "_removeObject", "_removeObjects"]
        return Set(kinds.flatMap { ["_\($0)", "_set\($0.prefix(1).uppercased())\($0.dropFirst())"] } + changes)
    }()
}
