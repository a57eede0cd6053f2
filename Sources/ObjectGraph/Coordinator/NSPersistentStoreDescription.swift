// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey = "NSPersistentStoreRemoteChangeNotificationOptionKey"

/// How a store is to be opened.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstoredescription
open class NSPersistentStoreDescription: NSObject, @unchecked Sendable {
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

    /// Takes the options of a coordinator's call for its own.
    func take(_ options: [AnyHashable: Any]) {
        for (key, value) in options {
            guard let key = key.base as? String else { continue }
            switch key {
            case NSReadOnlyPersistentStoreOption: isReadOnly = Self.isOn(value)
            case NSMigratePersistentStoresAutomaticallyOption: shouldMigrateStoreAutomatically = Self.isOn(value)
            case NSInferMappingModelAutomaticallyOption: shouldInferMappingModelAutomatically = Self.isOn(value)
            case NSPersistentStoreTimeoutOption:
                if let seconds = (value as? Double) ?? (value as? NSNumber)?.doubleValue { timeout = seconds }
            default: break
            }
            setOption((value as? NSObject) ?? (value is Bool ? NSNumber(value: Self.isOn(value)) : nil), forKey: key)
        }
    }

    private static func isOn(_ value: Any?) -> Bool { (value as? Bool) ?? (value as? NSNumber)?.boolValue ?? false }

    package var isHistoryTracked: Bool { isOn(NSPersistentHistoryTrackingKey) }
    package var postsRemoteChanges: Bool { isOn(NSPersistentStoreRemoteChangeNotificationPostOptionKey) }

    private func isOn(_ key: String) -> Bool { Self.isOn(storedOptions[key]) }
}
