// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Crypto
import Foundation
import SystemSupport

/// An operation as it is kept: its kind, its inputs, and how it is carried out. Blocks are not kept.
struct KeptForm: Sendable {
    private enum Key {
        static let kind = "Kind"
        static let id = "OperationID"
        static let made = "Made"
        static let scope = "DatabaseScope"
        static let quality = "QualityOfService"
        static let cellular = "AllowsCellularAccess"
        static let request = "TimeoutForRequest"
        static let resource = "TimeoutForResource"
        static let group = "Group"
        static let name = "Name"
    }

    let operationID: CKOperation.ID
    let kind: KeptKind
    let made: Date
    /// Nil for an operation on what belongs to no database.
    let scope: CKDatabase.Scope?
    private let archive: Data

    /// - Throws: ``CKError`` with `.invalidArguments` if the operation's inputs are none that it could ever run with.
    init(_ operation: CKOperation, _ kind: KeptKind, _ settings: OperationSettings, made: Date, assets: KeptAssets) throws {
        operationID = operation.operationID
        self.kind = kind
        self.made = made
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        coder.encode(kind.rawValue as NSString, forKey: Key.kind)
        coder.encode(operation.operationID as NSString, forKey: Key.id)
        coder.encode(made.timeIntervalSince1970, forKey: Key.made)
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
        archive = coder.encodedData
    }

    /// What was kept.
    ///
    /// - Throws: ``KeptFolder/Unreadable`` if it is nothing that this version can carry out.
    init(_ data: Data) throws {
        archive = data
        let coder = try Self.coder(data)
        guard let kind = (coder.decodeObject(of: NSString.self, forKey: Key.kind) as String?).flatMap(KeptKind.init(rawValue:)),
            let id = coder.decodeObject(of: NSString.self, forKey: Key.id)
        else { throw KeptFolder.Unreadable() }
        self.kind = kind
        operationID = id as String
        made = Date(timeIntervalSince1970: coder.decodeDouble(forKey: Key.made))
        scope = CKDatabase.Scope(rawValue: coder.decodeInteger(forKey: Key.scope))
    }

    var data: Data { archive }

    private static func coder(_ data: Data) throws -> NSKeyedUnarchiver {
        let coder = try NSKeyedUnarchiver(forReadingFrom: data)
        coder.requiresSecureCoding = true
        coder.decodingFailurePolicy = .setErrorAndReturn
        return coder
    }

    /// A new operation with what was kept, for a container.
    ///
    /// - Throws: ``KeptFolder/Unreadable``.
    func makeOperation(in container: CKContainer) throws -> CKOperation {
        let coder = try Self.coder(archive)
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
        if coder.error != nil { throw KeptFolder.Unreadable() }
        return operation
    }
}

/// The operations that can be kept. A subclass of an app's own is kept as its class of this framework.
enum KeptKind: String, Sendable {
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

/// The files of assets that are sent, in the operation's folder, for the app may remove its own.
final class KeptAssets {
    private let folder: KeptFolder
    /// By the path of the app's file.
    private(set) var copies: [String: URL] = [:]

    init(_ folder: KeptFolder) { self.folder = folder }

    /// The record with the kept files in the place of the app's. One that is not there stays: saving it tells that.
    ///
    /// - Throws: What the file system says.
    func keep(_ record: CKRecord) throws -> CKRecord {
        guard let copy = record.copy() as? CKRecord else { return record }
        for (key, value) in record.stored.value.values {
            switch value {
            case .wire: break
            case .asset(let asset):
                let kept = LocalValue.asset(try keep(asset))
                copy.stored.update { $0.values[key] = kept }
            case .assets(let assets):
                let kept = LocalValue.assets(try assets.map(keep))
                copy.stored.update { $0.values[key] = kept }
            }
        }
        return copy
    }

    private func keep(_ asset: CKAsset) throws -> CKAsset {
        guard asset.value == nil, let file = asset.fileURL, FileManager.default.isReadableFile(atPath: file.path) else {
            return asset
        }
        if let known = copies[file.path] { return CKAsset(fileURL: known) }
        let name = "asset-\(copies.count + 1)"
        try folder.keep(file, as: name)
        let kept = folder.url.appendingPathComponent(name)
        copies[file.path] = kept
        return CKAsset(fileURL: kept)
    }

    /// A name for the content of an asset that was fetched.
    static func name(of asset: AssetValue) -> String {
        Hex.text(SHA256.hash(data: Field(.asset(asset)).encoded()))
    }
}
