// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A place in source that does not compile without Objective-C.
package struct Obstacle: Equatable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case keyPath = "#keyPath"
        case selector = "#selector"
        case members = "@objcMembers"
        case exposed = "@objc"
        case optionalRequirement = "optional"
        case erasedRequest = "as NSFetchRequest"
        case observer = "addObserver(_:selector:name:object:)"
        case overrideInExtension = "override in an extension"
        case missingImport = "missing import"
        case qualifiedName = "Foundation."
        case keyValueObserving = "key-value observing"
        case absentFramework = "absent framework"
        case absentName = "absent name"

        /// Why it does not compile, or does not work, and what to do where no edit is made.
        package var reason: String {
            switch self {
            case .keyPath: "#keyPath needs the Objective-C runtime; the name as a string means the same"
            case .selector: "#selector needs the Objective-C runtime; pass a closure, or keep the call for Apple's platforms only"
            case .members: "@objcMembers needs the Objective-C runtime; it is kept for Apple's platforms"
            case .exposed: "@objc needs the Objective-C runtime; pass the access notes to the compiler, or keep it for Apple's platforms"
            case .optionalRequirement: "optional requirements need the Objective-C runtime; give the method an empty body in an extension"
            case .erasedRequest:
                "without Objective-C a generic class cannot be cast to another of its types; make the request with the wanted type, or NSFetchRequest(copying:)"
            case .observer: "#selector needs the Objective-C runtime; an observer's block means the same"
            case .overrideInExtension: "Swift overrides members in the class's own body only, without the Objective-C runtime"
            case .missingImport: "the name comes from a module that this file does not import"
            case .qualifiedName: "Foundation has no such class that works off Apple's platforms; CoreData declares it"
            case .keyValueObserving:
                "observing by key needs the Objective-C runtime; observe a managed object's property by observe(_:options:changeHandler:)"
            case .absentFramework: "this framework exists on Apple's platforms only; put the file, or what needs it, behind #if canImport"
            case .absentName:
                "this is absent off Apple's platforms (see the parity ledger); put what needs it behind #if canImport(ObjectiveC)"
            }
        }
    }

    /// Replaces bytes of the file.
    package struct Edit: Equatable, Sendable {
        /// In UTF-8 code units from the start of the file.
        package var range: Range<Int>
        package var text: String
    }

    package var kind: Kind
    /// Counted from 1.
    package var line: Int
    /// The place as the source has it.
    package var text: String
    /// The least change after which the source compiles with and without Objective-C; nil if it needs a decision.
    package var edit: Edit?
    /// The reason against an edit, or a remark about it.
    package var note: String?

    package init(kind: Kind, line: Int, text: String, edit: Edit? = nil, note: String? = nil) {
        self.kind = kind
        self.line = line
        self.text = text
        self.edit = edit
        self.note = note
    }
}
