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
    /// Whether saves to the store fail: the option `NSReadOnlyPersistentStoreOption`.
    open var isReadOnly: Bool {
        get { isOn(NSReadOnlyPersistentStoreOption) }
        set { storedOptions[NSReadOnlyPersistentStoreOption] = NSNumber(value: newValue) }
    }
    /// Seconds to wait for a file that another process has locked: the option `NSPersistentStoreTimeoutOption`.
    open var timeout: TimeInterval {
        get { (storedOptions[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue ?? 240 }
        set { storedOptions[NSPersistentStoreTimeoutOption] = NSNumber(value: newValue) }
    }
    /// Whether the store is opened on another thread.
    open var shouldAddStoreAsynchronously = false
    /// Whether a store of an older model is migrated when it is opened: the option
    /// `NSMigratePersistentStoresAutomaticallyOption`.
    open var shouldMigrateStoreAutomatically: Bool {
        get { isOn(NSMigratePersistentStoresAutomaticallyOption) }
        set { storedOptions[NSMigratePersistentStoresAutomaticallyOption] = NSNumber(value: newValue) }
    }
    /// Whether a migration infers the mapping between the models: the option
    /// `NSInferMappingModelAutomaticallyOption`.
    open var shouldInferMappingModelAutomatically: Bool {
        get { isOn(NSInferMappingModelAutomaticallyOption) }
        set { storedOptions[NSInferMappingModelAutomaticallyOption] = NSNumber(value: newValue) }
    }
    private var storedOptions: [String: NSObject] = [
        NSMigratePersistentStoresAutomaticallyOption: NSNumber(value: true),
        NSInferMappingModelAutomaticallyOption: NSNumber(value: true),
    ]
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

    /// The store options by key, including those with their own properties.
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
            if key == NSSQLitePragmasOption {
                for (name, value) in Self.pragmas(value) { setValue(value, forPragmaNamed: name) }
            } else {
                setOption(Self.object(value), forKey: key)
            }
        }
    }

    /// Converts a Swift value as bridging to Objective-C does.
    private static func object(_ value: Any) -> NSObject? {
        switch value {
        case let object as NSObject: object
        case let flag as Bool: NSNumber(value: flag)
        case let number as Double: NSNumber(value: number)
        case let number as Int: NSNumber(value: number)
        case let text as String: NSString(string: text)
        default: nil
        }
    }

    private static func pragmas(_ value: Any) -> [String: NSObject] {
        if let texts = value as? [String: String] { return texts.mapValues { NSString(string: $0) } }
        return value as? [String: NSObject] ?? [:]
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
        copy.shouldAddStoreAsynchronously = shouldAddStoreAsynchronously
        copy.storedOptions = storedOptions
        copy.attachments = attachments
        return copy
    }
}
