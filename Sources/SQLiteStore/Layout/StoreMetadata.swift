// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The dictionary in `Z_METADATA`: the app's values, and the store's own.
struct StoreMetadata {
    private(set) var values: [String: Any]

    static var initial: StoreMetadata {
        StoreMetadata(values: [StoreFormat.MetadataKey.type: "SQLite", "_NSAutoVacuumLevel": "2"])
    }

    private init(values: [String: Any]) { self.values = values }

    init(decoding data: Data) throws(StoreError) {
        guard let list = try? PropertyListSerialization.propertyList(from: data, format: nil),
            let values = list as? [String: Any]
        else { throw StoreError(.corrupt, "the store's metadata cannot be read") }
        self.values = values
    }

    func encoded() throws(StoreError) -> Data {
        do { return try PropertyListSerialization.data(fromPropertyList: values, format: .binary, options: 0) } catch {
            throw StoreError(.other, "metadata may only have property-list values")
        }
    }

    /// nil for a store that this framework has not written yet.
    var formatVersion: Int? { (values[StoreFormat.MetadataKey.format] as? NSNumber)?.intValue }

    func recordedModel() throws(StoreError) -> RecordedModel? {
        guard let data = values[StoreFormat.MetadataKey.model] as? Data else { return nil }
        return try RecordedModel(decoding: data)
    }

    /// - Parameters:
    ///   - others: Entities that the model has in another configuration.
    ///   - earlier: Their record.
    mutating func record(
        _ model: RecordedModel, keeping others: [String: RecordedEntity] = [:], of earlier: RecordedModel? = nil
    ) throws(StoreError) {
        var model = model
        model.entities.merge(others) { own, _ in own }
        // Indexes of another configuration's tables belong to its record.
        for (name, statement) in earlier?.indexes ?? [:] where model.indexes?[name] == nil {
            if others.keys.contains(where: { name.hasPrefix("Z_\($0)_") || name.hasPrefix("Z\($0.uppercased())_") }) {
                model.indexes?[name] = statement
            }
        }
        values[StoreFormat.MetadataKey.format] = StoreFormat.current.rawValue
        values[StoreFormat.MetadataKey.model] = try model.encoded()
    }

    /// Deferred steps of migrations.
    var deferred: [DeferredDrop] {
        get { (values[StoreFormat.MetadataKey.deferredDrops] as? [String] ?? []).map(DeferredDrop.init(text:)) }
        set {
            // A migration that Apple's framework deferred has its own key.
            if newValue.isEmpty, values[StoreFormat.MetadataKey.deferredDrops] == nil { return }
            values[StoreFormat.MetadataKey.deferredDrops] = newValue.isEmpty ? nil : newValue.map(\.text)
            values[StoreFormat.MetadataKey.deferred] = newValue.isEmpty ? nil : true
        }
    }

    // MARK: Versions of the model

    var hasRecordedVersion: Bool { recordedHashes != nil }

    /// Whether the store has the version of the model that the options describe.
    func hasVersion(_ options: SQLiteStore.Options) -> Bool { hasRecordedVersion && differences(from: options).isEmpty }

    /// Returns the entities that the model has in another version.
    func differences(from options: SQLiteStore.Options) -> [String] {
        guard let storeHashes = recordedHashes else { return [] }
        return options.versionHashes.filter { name, hash in
            storeHashes[name] != hash && storeHashes[name] != options.earlierVersionHashes[name]
        }.keys.sorted()
    }

    private var recordedHashes: [String: Data]? { values[StoreFormat.MetadataKey.hashes] as? [String: Data] }

    /// Entities of other configurations keep their recorded version.
    mutating func recordVersion(_ options: SQLiteStore.Options, besides others: Set<String> = []) {
        guard !options.versionHashes.isEmpty else { return }
        let others = (recordedHashes ?? [:]).filter { others.contains($0.key) }
        values[StoreFormat.MetadataKey.hashes] = others.merging(options.versionHashes) { $1 }
        // Apple's own values stay unchanged.
        let isForeign = values[StoreFormat.MetadataKey.applesHashes] != nil
        values[isForeign ? StoreFormat.MetadataKey.ownChecksum : StoreFormat.MetadataKey.checksum] = options.versionChecksum
        values[isForeign ? StoreFormat.MetadataKey.ownIdentifiers : StoreFormat.MetadataKey.versionIdentifiers] = options.versionIdentifiers
    }

    /// The metadata that apps see.
    func visible(identifier: String) -> [String: Any] {
        var visible = values
        visible[StoreFormat.MetadataKey.model] = nil
        visible[StoreFormat.MetadataKey.deferredDrops] = nil
        // The file has Tarn's hashes under Tarn's key, so that they are not taken for Apple's.
        if let hashes = visible.removeValue(forKey: StoreFormat.MetadataKey.hashes) {
            visible[StoreFormat.MetadataKey.applesHashes] = hashes
            visible[StoreFormat.MetadataKey.hashVersion] = 1
        }
        for (own, shown) in StoreFormat.MetadataKey.shownAs {
            if let value = visible.removeValue(forKey: own) { visible[shown] = value }
        }
        visible[StoreFormat.MetadataKey.identifier] = identifier
        return visible
    }

    /// Replaces the app's values, keeps the store's own.
    mutating func replaceVisible(with new: [String: Any]) {
        let storeValues = values.filter { StoreFormat.MetadataKey.reserved.contains($0.key) || $0.key == "_NSAutoVacuumLevel" }
        let applesHashes = values[StoreFormat.MetadataKey.applesHashes]
        var new = new
        new[StoreFormat.MetadataKey.tables] = nil
        values = new.merging(storeValues) { _, storeValues in storeValues }
        values[StoreFormat.MetadataKey.identifier] = nil
        values[StoreFormat.MetadataKey.hashVersion] = nil
        values[StoreFormat.MetadataKey.applesHashes] = applesHashes
    }
}
