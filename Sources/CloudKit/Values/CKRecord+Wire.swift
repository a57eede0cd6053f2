// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

extension CKRecord {
    /// The record as the server last returned it.
    var ancestor: CKRecord? {
        let state = stored.value
        guard let server = state.server else { return nil }
        let ancestor = CKRecord.make(server, in: recordID.zoneID, scope: scope)
        ancestor.stored.update { $0.linkBase = state.linkBase }
        return ancestor
    }

    /// Creates a record from the server, of the class for its type.
    static func make(_ record: Record, in zoneID: CKRecordZone.ID, scope: CKDatabase.Scope) -> CKRecord {
        record.recordType == CKRecord.SystemType.share
            ? CKShare(record, in: zoneID, scope: scope) : CKRecord(record, in: zoneID, scope: scope)
    }

    var edits: Edits {
        let state = stored.value
        return Edits(numbers: state.changed, parent: state.parent)
    }

    /// Updates the record after it was saved. Fields that changed concurrently keep their values.
    func wasSaved(_ answer: CKRecord, _ edits: Edits) {
        let saved = answer.stored.value
        stored.update { state in
            for (key, number) in edits.numbers where state.changed[key] == number { state.changed[key] = nil }
            state.server = saved.server
            state.linkBase = saved.linkBase
            if let share = saved.share { state.share = share }
            state.shareName = nil
            for (key, value) in saved.values where state.changed[key] == nil {
                state.values[key] = value
                state.exactDates[key] = nil
            }
            state.encrypted.formUnion(saved.encrypted)
            if state.parent == edits.parent { state.isParentChanged = false }
        }
    }

    /// Keys that a query interprets as system fields, so that an app's fields cannot use them.
    private static let reservedKeys: Set<FieldKey> = [
        "recordID", "recordType", "recordChangeTag", "creationDate", "creatorUserRecordID", "modificationDate",
        "lastModifiedUserRecordID", "parent", "share",
    ]

    /// Creates the save operation. New assets are uploaded first.
    ///
    /// - Throws: ``CKError`` with `.invalidArguments` for a name that no record or field can have, where Apple raises
    ///   an exception.
    /// - Parameter progress: Receives the share of the assets that was sent, if the record has any.
    func operation(
        _ policy: CKModifyRecordsOperation.RecordSavePolicy, _ edits: Edits, uploadingWith client: CloudDatabaseClient,
        _ journal: JournaledExecution? = nil,
        progress: @escaping @Sendable (Double) async -> Void = { _ in }
    ) async throws -> RecordOperation {
        let state = stored.value
        // Without a name the server would assign one that this record does not know.
        guard !recordID.recordName.isEmpty else { throw CKError(.invalidArguments, "the name of a record must not be empty") }
        if let key = state.changed.keys.sorted().first(where: Self.reservedKeys.contains) {
            throw CKError(.invalidArguments, "no field can have the name \(key), which is that of a system field; rename it")
        }
        let tag = state.server?.recordChangeTag
        let kind: RecordOperation.Kind
        let keys: Set<FieldKey>
        switch policy {
        case .ifServerRecordUnchanged: (kind, keys) = (tag == nil ? .create : .update, Set(state.changed.keys))
        case .changedKeys: (kind, keys) = (.forceUpdate, Set(state.changed.keys))
        case .allKeys: (kind, keys) = (.forceUpdate, Set(state.changed.keys).union(state.values.keys))
        }
        var record = Record(
            recordName: recordID.recordName, recordType: state.recordType, recordChangeTag: kind == .update ? tag : nil)
        let bytes = keys.reduce(0) { $0 + (state.values[$1]?.bytesToSend(state) ?? 0) }
        let assets = ByteProgress(total: bytes, progress)
        for key in keys.sorted() {
            let value = try await state.values[key]?.wire { asset in
                if let value = state.storedValue(of: asset) { return value }
                guard let url = asset.fileURL else { throw CKError(.assetFileNotFound) }
                let file = journal?.copies[url.path] ?? url
                // The record of the server may have it: this version of the record may be without some of its fields.
                if let value = asset.value, !FileManager.default.isReadableFile(atPath: file.path) { return value }
                let send = {
                    try await client.uploadAsset(
                        .file(file), recordType: state.recordType,
                        recordName: self.recordID.recordName, fieldName: key, zoneID: self.recordID.zoneID.wire, progress: assets)
                }
                if let journal { return try await journal.upload(send) }
                return try await send()
            }
            record.fields[key] = Field(value, isEncrypted: state.encrypted.contains(key))
        }
        if state.isParentChanged || (kind == .create && state.parent != nil) || policy == .allKeys {
            record.sharing.parent = edits.parent?.recordID.recordName ?? (state.isParentChanged ? "" : nil)
        }
        record.sharing.details = state.share?.wire
        return RecordOperation(kind, record)
    }

    // MARK: Assets

    /// Fetches the content of all assets into new files.
    ///
    /// - Throws: ``CKError`` with `.assetNotAvailable`, or why the request failed.
    func fetchAssets(
        with client: CloudDatabaseClient, _ journal: JournaledExecution? = nil,
        progress: @escaping @Sendable (Double) async -> Void = { _ in }
    ) async throws {
        let values = stored.value.values
        let assets = ByteProgress(total: values.values.reduce(0) { $0 + $1.bytesToFetch }, progress)
        for (key, value) in values {
            switch value {
            case .wire: break
            case .asset(let asset):
                let file = try await fetch(asset, with: client, journal, assets)
                stored.update { $0.values[key] = .asset(file) }
            case .assets(let list):
                var files: [CKAsset] = []
                for asset in list {
                    files.append(try await fetch(asset, with: client, journal, assets))
                }
                let fetched = files
                stored.update { $0.values[key] = .assets(fetched) }
            }
        }
    }

    private func fetch(
        _ asset: CKAsset, with client: CloudDatabaseClient, _ journal: JournaledExecution?, _ progress: ByteProgress
    ) async throws -> CKAsset {
        guard let value = asset.value, asset.fileURL == nil else { return asset }
        let file = try AssetFolder.newFile()
        let fetch = { try await client.downloadAsset(value, to: file, progress: progress) }
        if let journal { try await journal.download(value, to: file, fetch) } else { try await fetch() }
        return asset.withFile(file)
    }

    /// Assigns the files that were sent to the assets of a saved record.
    func keepFiles(of sent: CKRecord) {
        let values = sent.stored.value.values
        stored.update { state in
            for (key, value) in values {
                switch (state.values[key], value) {
                case (.asset(let saved), .asset(let local)):
                    if let url = local.fileURL { state.values[key] = .asset(saved.withFile(url)) }
                case (.assets(let saved), .assets(let local)) where saved.count == local.count:
                    state.values[key] = .assets(
                        zip(saved, local).map { saved, local in local.fileURL.map { saved.withFile($0) } ?? saved })
                default: break
                }
            }
        }
    }
}

extension CKRecord.State {
    /// Returns the value of an asset that the server's version of this record has, or `nil` if the file must be uploaded.
    ///
    /// The server accepts a value without an upload only from a record that has the asset already, so an asset of another record, or of
    /// an earlier version of this one, is uploaded from its file. Without a file there is only the value.
    ///
    /// Source: *CloudKit Web Services Reference*, "Uploading Assets", "Referencing Existing Assets"; Apple's documentation of `CKAsset`.
    func storedValue(of asset: CKAsset) -> AssetValue? {
        guard let value = asset.value, asset.fileURL != nil else { return asset.value }
        return hasOnServer(value) ? value : nil
    }

    private func hasOnServer(_ asset: AssetValue) -> Bool {
        guard let server else { return false }
        return server.fields.values.contains { field in
            switch field.value {
            case .asset(let stored): return stored.isContent(of: asset)
            case .list(let elements, of: .asset):
                return elements.contains { element in
                    if case .asset(let stored) = element { stored.isContent(of: asset) } else { false }
                }
            default: return false
            }
        }
    }
}

extension AssetValue {
    /// Download addresses differ between responses.
    fileprivate func isContent(of other: AssetValue) -> Bool { fileChecksum == other.fileChecksum && size == other.size }
}

extension LocalValue {
    private var assets: [CKAsset] {
        switch self {
        case .wire: []
        case .asset(let asset): [asset]
        case .assets(let assets): assets
        }
    }

    /// The size of the files to upload with a record in this state, in bytes.
    func bytesToSend(_ state: CKRecord.State) -> Int64 {
        assets.reduce(0) { bytes, asset in
            guard state.storedValue(of: asset) == nil, let path = asset.fileURL?.path,
                let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            else { return bytes }
            return bytes + ((attributes[.size] as? NSNumber)?.int64Value ?? 0)
        }
    }

    /// The size of the contents that are not downloaded yet, in bytes.
    var bytesToFetch: Int64 {
        assets.reduce(0) { bytes, asset in asset.fileURL == nil ? bytes + max(0, asset.value?.size ?? 0) : bytes }
    }

    /// The value as it is sent.
    ///
    /// - Parameter send: Returns the wire value of an asset, after an upload if needed.
    func wire(_ send: (CKAsset) async throws -> AssetValue) async throws -> FieldValue {
        switch self {
        case .wire(let value): return value
        case .asset(let asset): return .asset(try await send(asset))
        case .assets(let assets):
            var values: [FieldValue] = []
            for asset in assets { values.append(.asset(try await send(asset))) }
            return .list(values, of: .asset)
        }
    }
}

/// The folder of fetched assets, below the temporary folder, readable by this user only.
private enum AssetFolder {
    static func newFile() throws(CKError) -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-assets-\(getuid())")
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            // Another user may have created a folder of that name, and could replace the files.
            let owner = try FileManager.default.attributesOfItem(atPath: folder.path)[.ownerAccountID] as? NSNumber
            guard owner?.uint32Value == getuid() else { throw POSIXError(.EPERM) }
            return folder.appendingPathComponent(UUID().uuidString)
        } catch {
            throw CKError(.assetNotAvailable, "the folder for assets cannot be created in the temporary folder", cause: error)
        }
    }
}
