// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

extension CKRecord {
    /// The record as the server described it before it was changed here.
    var ancestor: CKRecord? {
        stored.value.server.map { CKRecord($0, in: recordID.zoneID, scope: scope) }
    }

    /// What to send so that the record is saved. New assets are sent first.
    func operation(
        _ policy: CKModifyRecordsOperation.RecordSavePolicy, uploadingWith client: CloudDatabaseClient
    ) async throws -> RecordOperation {
        let state = stored.value
        let tag = state.server?.recordChangeTag
        let kind: RecordOperation.Kind
        let keys: Set<FieldKey>
        switch policy {
        case .ifServerRecordUnchanged: (kind, keys) = (tag == nil ? .create : .update, state.changed)
        case .changedKeys: (kind, keys) = (.forceUpdate, state.changed)
        case .allKeys: (kind, keys) = (.forceUpdate, state.changed.union(state.values.keys))
        }
        var record = Record(
            recordName: recordID.recordName, recordType: state.recordType, recordChangeTag: kind == .update ? tag : nil)
        for key in keys.sorted() {
            let value = try await state.values[key]?.wire { asset in
                if let value = asset.value { return value }
                guard let url = asset.fileURL else { throw CKError(.assetFileNotFound) }
                return try await client.uploadAsset(
                    .file(url), recordType: state.recordType, recordName: self.recordID.recordName, fieldName: key,
                    zoneID: self.recordID.zoneID.wire)
            }
            record.fields[key] = Field(value, isEncrypted: state.encrypted.contains(key))
        }
        return RecordOperation(kind, record)
    }

    // MARK: Assets

    /// Fetches the content of all assets into files of their own.
    ///
    /// - Throws: ``CKError`` with `.assetNotAvailable`, or why the server could not be asked.
    func fetchAssets(with client: CloudDatabaseClient) async throws {
        for (key, value) in stored.value.values {
            switch value {
            case .wire: break
            case .asset(let asset):
                let file = try await fetch(asset, with: client)
                stored.update { $0.values[key] = .asset(file) }
            case .assets(let assets):
                var files: [CKAsset] = []
                for asset in assets { files.append(try await fetch(asset, with: client)) }
                let fetched = files
                stored.update { $0.values[key] = .assets(fetched) }
            }
        }
    }

    private func fetch(_ asset: CKAsset, with client: CloudDatabaseClient) async throws -> CKAsset {
        guard let value = asset.value, asset.fileURL == nil else { return asset }
        let file = try AssetFolder.newFile()
        try await client.downloadAsset(value, to: file)
        return asset.withFile(file)
    }

    /// Gives the assets of a record that was just saved the files they were sent from.
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

extension LocalValue {
    /// The value as it travels.
    ///
    /// - Parameter send: Gives the wire value of an asset, sending its content if need be.
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

/// Where the content of fetched assets lies: in the temporary folder, readable for this user only.
private enum AssetFolder {
    static func newFile() throws(CKError) -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-assets-\(getuid())")
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            return folder.appendingPathComponent(UUID().uuidString)
        } catch {
            throw CKError(.assetNotAvailable, "the folder for assets cannot be made in the temporary folder", cause: error)
        }
    }
}
