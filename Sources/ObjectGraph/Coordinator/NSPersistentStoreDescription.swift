// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// How a store is to be opened.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstoredescription
open class NSPersistentStoreDescription: NSObject, NSCopying, @unchecked Sendable {
    // Unchecked: configured by its owner before the stores are loaded, read afterwards.
    open var type = NSSQLiteStoreType
    open var configuration: String?
    open var url: URL?
    open var isReadOnly = false
    /// Seconds to wait for a file that another process holds.
    open var timeout: TimeInterval = 240
    open var shouldAddStoreAsynchronously = false
    open var shouldMigrateStoreAutomatically = true
    open var shouldInferMappingModelAutomatically = true
    private var storedOptions: [String: NSObject] = [:]
    /// Room for what other modules configure about a store: mirroring keeps its options here.
    package var attachments: [String: Any] = [:]

    public override init() { super.init() }

    /// - Parameter url: `/dev/null` makes a store in memory.
    public init(url: URL) {
        super.init()
        self.url = url
    }

    open var options: [String: NSObject] { storedOptions }

    open func setOption(_ option: NSObject?, forKey key: String) { storedOptions[key] = option }

    /// Statements `PRAGMA name = value` for each connection to a SQLite store.
    open var sqlitePragmas: [String: NSObject] { storedOptions[NSSQLitePragmasOption] as? [String: NSObject] ?? [:] }

    open func setValue(_ value: NSObject?, forPragmaNamed name: String) {
        var pragmas = sqlitePragmas
        pragmas[name] = value
        storedOptions[NSSQLitePragmasOption] = pragmas as NSDictionary
    }

    /// A description of what a coordinator's call asks for. Migration is off there unless the options ask for it.
    convenience init(type: String, configuration: String?, url: URL?, options: [AnyHashable: Any]?) {
        self.init()
        self.type = type
        self.configuration = configuration
        self.url = url
        shouldMigrateStoreAutomatically = false
        shouldInferMappingModelAutomatically = false
        take(options ?? [:])
    }

    private func take(_ options: [AnyHashable: Any]) {
        for (key, value) in options {
            guard let key = key.base as? String else { continue }
            switch key {
            case NSReadOnlyPersistentStoreOption: isReadOnly = Self.isOn(value)
            case NSMigratePersistentStoresAutomaticallyOption: shouldMigrateStoreAutomatically = Self.isOn(value)
            case NSInferMappingModelAutomaticallyOption: shouldInferMappingModelAutomatically = Self.isOn(value)
            case NSPersistentStoreTimeoutOption:
                if let seconds = (value as? Double) ?? (value as? NSNumber)?.doubleValue { timeout = seconds }
            case NSSQLitePragmasOption:
                for (name, value) in Self.pragmas(value) { setValue(value, forPragmaNamed: name) }
                continue
            default: break
            }
            setOption((value as? NSObject) ?? (value is Bool ? NSNumber(value: Self.isOn(value)) : nil), forKey: key)
        }
    }

    private static func pragmas(_ value: Any) -> [String: NSObject] {
        if let texts = value as? [String: String] { return texts.mapValues { NSString(string: $0) } }
        return value as? [String: NSObject] ?? [:]
    }

    /// The options with what has a property of its own.
    var effectiveOptions: [AnyHashable: Any] {
        var options: [AnyHashable: Any] = storedOptions
        options[NSMigratePersistentStoresAutomaticallyOption] = NSNumber(value: shouldMigrateStoreAutomatically)
        options[NSInferMappingModelAutomaticallyOption] = NSNumber(value: shouldInferMappingModelAutomatically)
        if isReadOnly { options[NSReadOnlyPersistentStoreOption] = NSNumber(value: true) }
        return options
    }

    /// Whether mirroring looks after the store.
    package var isSynced: Bool { !attachments.isEmpty }

    private static func isOn(_ value: Any?) -> Bool { (value as? Bool) ?? (value as? NSNumber)?.boolValue ?? false }

    package var isHistoryTracked: Bool { isOn(NSPersistentHistoryTrackingKey) }
    package var postsRemoteChanges: Bool { isOn(NSPersistentStoreRemoteChangeNotificationPostOptionKey) }
    var ignoresVersions: Bool { isOn(NSIgnorePersistentStoreVersioningOption) }

    func isOn(_ key: String) -> Bool { Self.isOn(storedOptions[key]) }

    public final func copy(with zone: NSZone? = nil) -> Any {
        let copy = NSPersistentStoreDescription()
        copy.type = type
        copy.configuration = configuration
        copy.url = url
        copy.isReadOnly = isReadOnly
        copy.timeout = timeout
        copy.shouldAddStoreAsynchronously = shouldAddStoreAsynchronously
        copy.shouldMigrateStoreAutomatically = shouldMigrateStoreAutomatically
        copy.shouldInferMappingModelAutomatically = shouldInferMappingModelAutomatically
        copy.storedOptions = storedOptions
        copy.attachments = attachments
        return copy
    }
}
