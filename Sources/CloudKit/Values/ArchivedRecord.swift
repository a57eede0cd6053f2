// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// An archived record: the system fields and, unless only those are archived, the fields and their changes.
struct ArchivedRecord {
    private enum Key {
        static let recordID = "RecordID"
        static let scope = "DatabaseScope"
        static let server = "ServerRecord"
        static let local = "LocalFields"
        static let changed = "ChangedKeys"
        static let files = "AssetFiles"
        static let parent = "ParentID"
        static let isParentChanged = "ParentChanged"
        static let linkBase = "LinkBase"
        static let exactDates = "ExactDates"
    }

    var recordID: CKRecord.ID
    var scope: CKDatabase.Scope
    var state: CKRecord.State

    init(_ record: CKRecord) {
        recordID = record.recordID
        scope = record.scope
        state = record.stored.value
    }

    init(systemFieldsOf record: CKRecord) {
        self.init(record)
        var server = state.server
        server?.fields = [:]
        var metadata = CKRecord.State(recordType: state.recordType, server: server)
        metadata.parent = state.parent
        metadata.share = state.share
        metadata.linkBase = state.linkBase
        state = metadata
    }

    func encode(with coder: NSCoder) {
        coder.encode(recordID, forKey: Key.recordID)
        coder.encode(scope.rawValue, forKey: Key.scope)
        let server = state.server ?? Record(recordName: recordID.recordName, recordType: state.recordType)
        coder.encode(NSData(data: Data(server.encoded())), forKey: Key.server)
        coder.encode(state.server != nil, forKey: "IsSaved")
        var local = Record(recordName: recordID.recordName, recordType: state.recordType)
        var files: [String: Any] = [:]
        for (key, value) in state.values {
            let isEncrypted = state.encrypted.contains(key)
            switch value {
            case .wire(let value): local.fields[key] = Field(value, isEncrypted: isEncrypted)
            case .asset(let asset): files[key] = [Self.plain(asset)] as NSArray
            case .assets(let assets):
                files[key] = assets.map(Self.plain) as NSArray
                local.fields[key] = Field(.list([], of: .asset))
            }
        }
        local.sharing.details = state.share?.wire
        coder.encode(NSData(data: Data(local.encoded())), forKey: Key.local)
        coder.encode(state.linkBase.map { $0 as NSString }, forKey: Key.linkBase)
        coder.encode(state.changed.keys.sorted() as NSArray, forKey: Key.changed)
        coder.encode(NSDictionary(dictionary: files), forKey: Key.files)
        let dates = state.exactDates.mapValues { list in list.map { NSNumber(value: $0.timeIntervalSinceReferenceDate) } as NSArray }
        if !dates.isEmpty { coder.encode(NSDictionary(dictionary: dates), forKey: Key.exactDates) }
        coder.encode(state.parent?.recordID, forKey: Key.parent)
        coder.encode(state.isParentChanged, forKey: Key.isParentChanged)
    }

    init?(_ coder: NSCoder) {
        guard let recordID = coder.decodeObject(of: CKRecord.ID.self, forKey: Key.recordID),
            let scope = CKDatabase.Scope(rawValue: coder.decodeInteger(forKey: Key.scope)),
            let server = coder.decodeObject(of: NSData.self, forKey: Key.server),
            let local = coder.decodeObject(of: NSData.self, forKey: Key.local),
            let serverRecord = try? Record(json: Array(Data(referencing: server))),
            let localRecord = try? Record(json: Array(Data(referencing: local))),
            let changed = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: Key.changed) as? [String]
        else { return nil }
        self.recordID = recordID
        self.scope = scope
        state = CKRecord.State(recordType: serverRecord.recordType)
        if coder.decodeBool(forKey: "IsSaved") { state.server = serverRecord }
        state.share = localRecord.sharing.details.map { ShareState($0) }
        state.linkBase = coder.decodeObject(of: NSString.self, forKey: Key.linkBase) as String?
        let classes: [AnyClass] = [NSDictionary.self, NSArray.self, NSString.self]
        let files = coder.decodeObject(of: classes, forKey: Key.files) as? [String: [[String: String]]] ?? [:]
        for (key, field) in localRecord.fields {
            if field.isEncrypted { state.encrypted.insert(key) }
            if case .list([], of: .asset)? = field.value {
                state.values[key] = .assets((files[key] ?? []).map(Self.asset))
            } else {
                state.values[key] = field.value.map { .wire($0) }
            }
        }
        for (key, list) in files where localRecord.fields[key] == nil {
            state.values[key] = list.first.map { .asset(Self.asset($0)) }
        }
        for (key, seconds) in Self.exactDates(coder) where state.values[key]?.isOfDates == true && !seconds.isEmpty {
            state.exactDates[key] = seconds.map { Date(timeIntervalSinceReferenceDate: $0.doubleValue) }
        }
        for key in changed {
            state.edits += 1
            state.changed[key] = state.edits
        }
        state.parent = coder.decodeObject(of: CKRecord.ID.self, forKey: Key.parent).map { CKRecord.ParentLink(recordID: $0) }
        state.isParentChanged = coder.decodeBool(forKey: Key.isParentChanged)
    }

    /// Archives without dates lack the key, as do those of earlier versions. To decode a missing key is an error of the whole archive.
    private static func exactDates(_ coder: NSCoder) -> [String: [NSNumber]] {
        guard coder.containsValue(forKey: Key.exactDates) else { return [:] }
        let classes: [AnyClass] = [NSDictionary.self, NSArray.self, NSString.self, NSNumber.self]
        return coder.decodeObject(of: classes, forKey: Key.exactDates) as? [String: [NSNumber]] ?? [:]
    }

    private static func plain(_ asset: CKAsset) -> NSDictionary {
        var parts: [String: String] = [:]
        parts["file"] = asset.fileURL?.path
        if let value = asset.value {
            parts["value"] = String(decoding: Field(.asset(value)).encoded(), as: UTF8.self)
        }
        return NSDictionary(dictionary: parts)
    }

    private static func asset(_ parts: [String: String]) -> CKAsset {
        let file = parts["file"].map { URL(fileURLWithPath: $0) }
        let field = parts["value"].flatMap { try? Field(json: Array($0.utf8)) }
        if case .asset(let value)? = field?.value { return CKAsset(value, fileURL: file) }
        return CKAsset(fileURL: file ?? URL(fileURLWithPath: "/"))
    }
}
