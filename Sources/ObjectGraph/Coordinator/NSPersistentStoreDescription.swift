// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The options by which a container or coordinator opens a store.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstoredescription
open class NSPersistentStoreDescription: NSObject, NSCopying, @unchecked Sendable {
    // Unchecked: the app configures it before the stores are loaded; afterwards it is only read.
    /// The type of store.
    open var type = NSSQLiteStoreType
    /// The configuration of the model that the store holds; nil for all entities.
    open var configuration: String?
    /// The store's file; `/dev/null` for an in-memory store.
    open var url: URL?
    /// Whether saves to the store fail.
    open var isReadOnly = false
    /// Seconds to wait for a file that another process has locked.
    open var timeout: TimeInterval = 240
    /// Whether the store is opened on another thread.
    open var shouldAddStoreAsynchronously = false
    /// Whether a store of an older model is migrated when it is opened.
    open var shouldMigrateStoreAutomatically = true
    /// Whether a migration infers the mapping between the models.
    open var shouldInferMappingModelAutomatically = true
    private var storedOptions: [String: NSObject] = [:]
    /// Options of other modules: mirroring stores its own here.
    package var attachments: [String: Any] = [:]

    public override init() { super.init() }

    /// Creates a description of a SQLite store.
    ///
    /// - Parameter url: The store's file; `/dev/null` for an in-memory store.
    public init(url: URL) {
        super.init()
        self.url = url
    }

    /// The store options by key.
    open var options: [String: NSObject] { storedOptions }

    /// Sets a store option; nil removes it.
    open func setOption(_ option: NSObject?, forKey key: String) { storedOptions[key] = option }

    /// Statements `PRAGMA name = value` for each connection to a SQLite store.
    open var sqlitePragmas: [String: NSObject] { storedOptions[NSSQLitePragmasOption] as? [String: NSObject] ?? [:] }

    /// Sets a pragma for each connection to a SQLite store; nil removes it.
    open func setValue(_ value: NSObject?, forPragmaNamed name: String) {
        var pragmas = sqlitePragmas
        pragmas[name] = value
        storedOptions[NSSQLitePragmasOption] = pragmas as NSDictionary
    }

    /// Creates the description of a coordinator's call. Unlike the initializers it migrates only if the options ask for
    /// it.
    convenience init(type: String, configuration: String?, url: URL?, options: [AnyHashable: Any]?) {
        self.init()
        self.type = type
        self.configuration = configuration
        self.url = url
        shouldMigrateStoreAutomatically = false
        shouldInferMappingModelAutomatically = false
        applyOptions(options ?? [:])
    }

    private func applyOptions(_ options: [AnyHashable: Any]) {
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

    /// The options, including those with their own properties.
    var effectiveOptions: [AnyHashable: Any] {
        var options: [AnyHashable: Any] = storedOptions
        options[NSMigratePersistentStoresAutomaticallyOption] = NSNumber(value: shouldMigrateStoreAutomatically)
        options[NSInferMappingModelAutomaticallyOption] = NSNumber(value: shouldInferMappingModelAutomatically)
        if isReadOnly { options[NSReadOnlyPersistentStoreOption] = NSNumber(value: true) }
        return options
    }

    /// Whether the store is mirrored.
    package var isSynced: Bool { !attachments.isEmpty }

    private static func isOn(_ value: Any?) -> Bool { (value as? Bool) ?? (value as? NSNumber)?.boolValue ?? false }

    package var isHistoryTracked: Bool { isOn(NSPersistentHistoryTrackingKey) }
    package var postsRemoteChanges: Bool { isOn(NSPersistentStoreRemoteChangeNotificationPostOptionKey) }
    var ignoresVersions: Bool { isOn(NSIgnorePersistentStoreVersioningOption) }

    func isOn(_ key: String) -> Bool { Self.isOn(storedOptions[key]) }

    /// Returns a description with the same options.
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
