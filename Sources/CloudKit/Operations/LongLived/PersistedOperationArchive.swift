// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Crypto
import Foundation
import SystemSupport

/// A persisted operation: its kind, its inputs and its settings. Blocks are not persisted.
struct PersistedOperationArchive: Sendable {
    private enum Key {
        static let kind = "Kind"
        static let id = "OperationID"
        static let creationDate = "Made"
        static let scope = "DatabaseScope"
        static let quality = "QualityOfService"
        static let cellular = "AllowsCellularAccess"
        static let request = "TimeoutForRequest"
        static let resource = "TimeoutForResource"
        static let group = "Group"
        static let name = "Name"
    }

    let operationID: CKOperation.ID
    let kind: PersistedOperationKind
    let creationDate: Date
    /// `nil` for an operation that needs no database.
    let scope: CKDatabase.Scope?
    let data: Data

    /// - Throws: ``CKError`` with `.invalidArguments` if the operation can never run with its inputs.
    init(
        _ operation: CKOperation, _ kind: PersistedOperationKind, _ settings: OperationSettings, creationDate: Date,
        assets: PersistedAssets
    ) throws {
        operationID = operation.operationID
        self.kind = kind
        self.creationDate = creationDate
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        coder.encode(kind.rawValue as NSString, forKey: Key.kind)
        coder.encode(operation.operationID as NSString, forKey: Key.id)
        coder.encode(creationDate.timeIntervalSince1970, forKey: Key.creationDate)
        scope = (operation as? CKDatabaseOperation)?.target.databaseScope
        coder.encode(scope?.rawValue ?? 0, forKey: Key.scope)
        if let quality = settings.qualityOfService { coder.encode(quality.rawValue, forKey: Key.quality) }
        coder.encode(settings.allowsCellularAccess, forKey: Key.cellular)
        if let seconds = settings.timeoutForRequest { coder.encode(seconds, forKey: Key.request) }
        if let seconds = settings.timeoutForResource { coder.encode(seconds, forKey: Key.resource) }
        coder.encode(operation.group, forKey: Key.group)
        coder.encode(operation.name.map { $0 as NSString }, forKey: Key.name)
        try operation.encodeInputs(coder, assets)
        coder.finishEncoding()
        data = coder.encodedData
    }

    /// Decodes a persisted operation.
    ///
    /// - Throws: ``PersistedOperationFolder/Unreadable`` if this version cannot execute it.
    init(_ data: Data) throws {
        self.data = data
        let coder = try Self.coder(data)
        guard let name = coder.decodeObject(of: NSString.self, forKey: Key.kind) as String?,
            let kind = PersistedOperationKind(rawValue: name),
            let id = coder.decodeObject(of: NSString.self, forKey: Key.id)
        else { throw PersistedOperationFolder.Unreadable() }
        self.kind = kind
        operationID = id as String
        creationDate = Date(timeIntervalSince1970: coder.decodeDouble(forKey: Key.creationDate))
        scope = CKDatabase.Scope(rawValue: coder.decodeInteger(forKey: Key.scope))
    }

    private static func coder(_ data: Data) throws -> NSKeyedUnarchiver {
        let coder = try NSKeyedUnarchiver(forReadingFrom: data)
        coder.requiresSecureCoding = true
        coder.decodingFailurePolicy = .setErrorAndReturn
        return coder
    }

    /// Creates an operation with the persisted inputs, for a container.
    ///
    /// - Throws: ``PersistedOperationFolder/Unreadable``.
    func makeOperation(in container: CKContainer) throws -> CKOperation {
        let coder = try Self.coder(data)
        let operation = kind.makeOperation()
        operation.operationID = operationID
        operation.addedToContainer = container
        operation.name = coder.decodeObject(of: NSString.self, forKey: Key.name) as String?
        operation.group = coder.decodeObject(of: CKOperationGroup.self, forKey: Key.group)
        var settings = OperationSettings()
        settings.isLongLived = true
        settings.allowsCellularAccess = coder.decodeBool(forKey: Key.cellular)
        if coder.containsValue(forKey: Key.quality) {
            settings.qualityOfService = QualityOfService(rawValue: coder.decodeInteger(forKey: Key.quality))
        }
        if coder.containsValue(forKey: Key.request) { settings.timeoutForRequest = coder.decodeDouble(forKey: Key.request) }
        if coder.containsValue(forKey: Key.resource) { settings.timeoutForResource = coder.decodeDouble(forKey: Key.resource) }
        operation.configuration = CKOperation.Configuration(settings)
        if let operation = operation as? CKDatabaseOperation {
            operation.database = container.database(with: scope ?? .private)
        }
        operation.decodeInputs(coder)
        if coder.error != nil { throw PersistedOperationFolder.Unreadable() }
        return operation
    }
}

/// The operations that can be persisted. A subclass of an app is persisted as its superclass in this framework.
enum PersistedOperationKind: String, Sendable {
    case modifyRecords, fetchRecords, query, fetchDatabaseChanges, fetchRecordZoneChanges, fetchRecordChanges
    case fetchRecordZones, modifyRecordZones, fetchSubscriptions, modifySubscriptions
    case fetchShareMetadata, acceptShares, fetchShareParticipants, shareRequestAccess, discoverUserIdentities

    func makeOperation() -> CKOperation {
        switch self {
        case .modifyRecords: CKModifyRecordsOperation()
        case .fetchRecords: CKFetchRecordsOperation()
        case .query: CKQueryOperation()
        case .fetchDatabaseChanges: CKFetchDatabaseChangesOperation()
        case .fetchRecordZoneChanges: CKFetchRecordZoneChangesOperation()
        case .fetchRecordChanges: CKFetchRecordChangesOperation()
        case .fetchRecordZones: CKFetchRecordZonesOperation()
        case .modifyRecordZones: CKModifyRecordZonesOperation()
        case .fetchSubscriptions: CKFetchSubscriptionsOperation()
        case .modifySubscriptions: CKModifySubscriptionsOperation()
        case .fetchShareMetadata: CKFetchShareMetadataOperation()
        case .acceptShares: CKAcceptSharesOperation()
        case .fetchShareParticipants: CKFetchShareParticipantsOperation()
        case .shareRequestAccess: CKShareRequestAccessOperation()
        case .discoverUserIdentities: CKDiscoverUserIdentitiesOperation()
        }
    }
}

/// Copies of the assets to send, in the operation's folder, since the app may remove its own files.
final class PersistedAssets {
    private let folder: PersistedOperationFolder
    /// By the path of the app's file.
    private(set) var copies: [String: URL] = [:]

    init(_ folder: PersistedOperationFolder) { self.folder = folder }

    /// Returns the record with the copies instead of the app's files. A missing file stays, and saving it reports the
    /// error.
    ///
    /// - Throws: The error of the file system.
    func persist(_ record: CKRecord) throws -> CKRecord {
        guard let copy = record.copy() as? CKRecord else { return record }
        let state = record.stored.value
        for (key, value) in state.values {
            switch value {
            case .wire: break
            case .asset(let asset):
                let value = LocalValue.asset(try persist(asset, of: state))
                copy.stored.update { $0.values[key] = value }
            case .assets(let assets):
                let value = LocalValue.assets(try assets.map { try persist($0, of: state) })
                copy.stored.update { $0.values[key] = value }
            }
        }
        return copy
    }

    private func persist(_ asset: CKAsset, of state: CKRecord.State) throws -> CKAsset {
        guard state.storedValue(of: asset) == nil, let file = asset.fileURL, FileManager.default.isReadableFile(atPath: file.path) else {
            return asset
        }
        if let copy = copies[file.path] { return CKAsset(fileURL: copy) }
        let name = "asset-\(copies.count + 1)"
        try folder.add(file, as: name)
        let copy = folder.url.appendingPathComponent(name)
        copies[file.path] = copy
        return CKAsset(fileURL: copy)
    }

    /// A name for the content of a fetched asset.
    static func name(of asset: AssetValue) -> String {
        Hex.text(SHA256.hash(data: Field(.asset(asset)).encoded()))
    }
}
