// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Names that a file uses: without their import, by a module that doesn't have them, or of absent declarations.

extension PortScan {
    /// Frameworks that exist on Apple's platforms only.
    private static let absentFrameworks: Set<String> = [
        "UIKit", "AppKit", "SwiftUI", "Combine", "WatchKit", "WidgetKit", "CoreSpotlight", "MobileCoreServices", "UniformTypeIdentifiers",
        "os",
        "CoreLocation", "MapKit", "Contacts", "Photos", "PhotosUI", "StoreKit", "Intents", "AppIntents", "CoreImage", "CoreGraphics",
        "QuartzCore", "Cocoa", "ObjectiveC", "Darwin", "SwiftData", "BackgroundTasks", "UserNotifications", "Security", "CryptoKit",
    ]

    /// Names of Apple's frameworks that this library leaves out.
    private static let absentNames: Set<String> = [
        "NSCoreDataCoreSpotlightDelegate", "NSCoreDataCoreSpotlightExporter", "ObservableObject", "objectWillChange",
        "NSFetchRequestResultPublisher",
        "NSExternalRecordsFileFormatOption", "NSExternalRecordExtensionOption", "NSExternalRecordsDirectoryOption",
        "NSXMLExternalRecordType",
        "NSBinaryExternalRecordType", "NSEntityNameInPathKey", "NSStoreUUIDInPathKey", "NSStorePathKey", "NSModelPathKey", "NSObjectURIKey",
        "UICloudSharingController", "NSSharingService", "CKShareTransferRepresentation", "CKSystemSharingUIObserver", "NSItemProvider",
        "NSClassFromObject", "class_getInstanceMethod", "method_exchangeImplementations", "objc_getAssociatedObject",
        "objc_setAssociatedObject", "NSAsynchronousFetchRequestPublisher",
    ]

    /// Key-value observing by the Objective-C runtime. `observe(_:options:changeHandler:)` of managed objects is there.
    private static let observingNames: Set<String> = [
        "NSKeyValueChangeKey", "observeValue", "automaticallyNotifiesObservers", "keyPathsForValuesAffectingValue",
    ]

    /// Classes of Core Data that a file can hardly mention without meaning Core Data.
    private static let coreDataNames: Set<String> = [
        "NSManagedObject", "NSManagedObjectContext", "NSManagedObjectID", "NSManagedObjectModel", "NSPersistentContainer",
        "NSPersistentCloudKitContainer", "NSPersistentStore", "NSPersistentStoreCoordinator", "NSPersistentStoreDescription",
        "NSFetchRequest",
        "NSFetchRequestResult", "NSFetchedResultsController", "NSFetchedResultsControllerDelegate", "NSFetchedResultsSectionInfo",
        "NSEntityDescription", "NSAttributeDescription", "NSRelationshipDescription", "NSPropertyDescription", "NSBatchDeleteRequest",
        "NSBatchInsertRequest", "NSBatchUpdateRequest", "NSMergePolicy", "NSMappingModel", "NSMigrationManager", "NSEntityMigrationPolicy",
        "NSPersistentHistoryChangeRequest", "NSPersistentHistoryToken", "NSPersistentHistoryTransaction", "NSSQLiteStoreType",
        "NSInMemoryStoreType", "NSMergeByPropertyObjectTrumpMergePolicy", "NSMergeByPropertyStoreTrumpMergePolicy", "NSManaged",
    ]

    private static let cloudKitNames: Set<String> = [
        "CKRecord", "CKContainer", "CKDatabase", "CKShare", "CKRecordZone", "CKQuery", "CKQueryOperation", "CKModifyRecordsOperation",
        "CKError", "CKAsset", "CKSubscription", "CKQuerySubscription", "CKDatabaseSubscription", "CKServerChangeToken", "CKAccountStatus",
        "CKSyncEngine",
    ]

    /// Classes that the CoreData module declares because Foundation's don't exist, or don't work.
    private static let ownFoundationNames: Set<String> = [
        "ValueTransformer", "NSValueTransformerName", "UndoManager", "NSExpression", "NSComparisonPredicate",
        "NSSecureUnarchiveFromDataTransformer",
    ]

    /// Looks at a word that is compiled without Objective-C.
    mutating func scanName(_ index: Int) {
        let token = tokens[index]
        guard token.kind == .word, index + 2 < tokens.count else { return }
        if token.text == "Foundation", tokens[index + 1].isMark("."), Self.ownFoundationNames.contains(tokens[index + 2].text) {
            add(.qualifiedName, index, to: index + 2, edit: tokens[index + 2].text)
        } else if token.text == "import", Self.absentFrameworks.contains(tokens[index + 1].text),
            !isBehindCanImport(index, tokens[index + 1].text)
        {
            add(.absentFramework, index, to: index + 1, edit: nil)
        } else if Self.absentNames.contains(token.text) {
            add(.absentName, index, to: index, edit: nil)
        } else if Self.observingNames.contains(token.text) {
            add(.keyValueObserving, index, to: index, edit: nil)
        } else if token.text == "addObserver", let end = closing(index + 1),
            (index..<end).contains(where: { tokens[$0].isWord("forKeyPath") && tokens[$0 + 1].isMark(":") })
        {
            add(.keyValueObserving, index, to: index, edit: nil)
        }
    }

    /// Whether an `#if` around the token asks for the module, or for an Apple system.
    private func isBehindCanImport(_ index: Int, _ module: String) -> Bool {
        var conditions: [String] = []
        for token in tokens[..<index] where token.kind == .directive {
            if token.text.hasPrefix("#if") {
                conditions.append(token.text)
            } else if token.text.hasPrefix("#endif") {
                _ = conditions.popLast()
            } else if !conditions.isEmpty {
                conditions[conditions.count - 1] = token.text
            }
        }
        return conditions.contains { condition in
            !condition.contains("!")
                && (condition.contains("canImport(") || condition.contains("os(iOS)") || condition.contains("os(macOS)")
                    || condition.contains("os(watchOS)") || condition.contains("os(tvOS)") || condition.contains("os(visionOS)"))
        }
    }

    /// Adds the import of CoreData or CloudKit to a file that uses their names without one. On Apple's platforms such a file
    /// compiles if another of its module has the import.
    mutating func scanImports() {
        var imported: Set<String> = []
        var lastImport: Int?
        for (index, token) in tokens.enumerated() where token.isWord("import") && index + 1 < tokens.count {
            var next = index + 1
            if ["struct", "class", "enum", "func", "protocol", "typealias", "var", "let"].contains(tokens[next].text) { next += 1 }
            imported.insert(tokens[next].text)
            if conditionDepth(at: index) == 0 { lastImport = next }
        }
        for (module, names) in [("CoreData", Self.coreDataNames), ("CloudKit", Self.cloudKitNames)] where !imported.contains(module) {
            guard let use = tokens.firstIndex(where: { $0.kind == .word && names.contains($0.text) }) else { continue }
            let position: Int
            if let lastImport {
                var last = lastImport
                while last + 2 < tokens.count, tokens[last + 1].isMark("."), !tokens[last + 1].startsLine { last += 2 }
                position = lineEnd(after: tokens[last].range.upperBound)
            } else {
                position = declarationStart()
            }
            let text = lastImport == nil ? "import \(module)\n\n" : "\nimport \(module)"
            obstacles.append(
                Obstacle(
                    kind: .missingImport, line: tokens[use].line, text: tokens[use].text,
                    edit: Obstacle.Edit(range: position..<position, text: text), note: "import \(module)"))
        }
    }

    func conditionDepth(at index: Int) -> Int {
        tokens[..<index].reduce(0) { depth, token in
            guard token.kind == .directive else { return depth }
            return token.text.hasPrefix("#if") ? depth + 1 : token.text.hasPrefix("#endif") ? depth - 1 : depth
        }
    }

    func lineEnd(after position: Int) -> Int { bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count }

    /// Where the first token stands, behind the comments that head the file, but before those of the first declaration.
    private func declarationStart() -> Int {
        var position = tokens[0].range.lowerBound
        while position > 0 {
            let before = bytes[..<(position - 1)].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            let line = text(before..<position)
            guard line.drop(while: \.isWhitespace).hasPrefix("///") else { break }
            position = before
        }
        return position
    }
}
