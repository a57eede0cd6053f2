// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Why a value of the server is quarantined.
package enum UnreadableReason: Hashable, Sendable {
    /// The key with this name, in hexadecimal digits, is not on this device.
    case missingKey(String)
    /// The value is damaged, forged, or was written for another field, record, zone or environment.
    case damaged
    /// The value was read before, and this device knows a newer one.
    case stale
    /// The server does not have the asset that the record names. Values that aren't encrypted may be in assets, too.
    case missingAsset
}

/// What this device knows of the server's values of one record: the accepted versions of encrypted ones, and the quarantined ones, encrypted
/// or not.
///
/// A device that encrypts a value gives it the number after the highest one that it knows of the field. On an honest server the numbers of
/// a field only rise, since a save needs the record's current change tag.
///
/// Keys are the names of inline fields, also for a value that is in an asset. An encrypted field that only a later version of the model has is
/// among them as long as its key is missing.
package struct FieldStates: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        /// The highest number that this device has accepted; 0 for a value of the formats without numbers.
        package var version: UInt64
        /// A part of the accepted value's authentication tag, in hexadecimal digits; nil for a value of this device.
        package var tag: String?
        /// Why the server's present value is quarantined; nil for an accepted one.
        package var problem: UnreadableReason?
        /// The number of the quarantined value, if it is greater than ``version``; else 0. Other devices may have accepted the value: one that
        /// replaces it needs a greater number.
        package var quarantinedVersion: UInt64 = 0
        /// Whether the next export sends this device's value: in place of a quarantined one, or with another key.
        package var isReplacing = false

        fileprivate var versionMax: UInt64 { max(version, quarantinedVersion) }

        package init(version: UInt64, tag: String? = nil, problem: UnreadableReason? = nil) {
            self.version = version
            self.tag = tag
            self.problem = problem
        }
    }

    package private(set) var entries: [String: Entry] = [:]

    package init() {}

    /// Whether ``text`` can have the name of a field, which the server chooses for fields of later versions of the model.
    package static func isName(_ field: String) -> Bool { !field.isEmpty && field.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    package subscript(field: String) -> Entry? {
        get { entries[field] }
        set { entries[field] = newValue }
    }

    package subscript(field: String, default entry: Entry) -> Entry {
        get { entries[field, default: entry] }
        set { entries[field] = newValue }
    }

    package var isEmpty: Bool { entries.isEmpty }

    /// The quarantined values by field, in the order of names.
    package var quarantined: [(field: String, reason: UnreadableReason)] {
        entries.compactMap { field, entry in entry.problem.map { (field, $0) } }.sorted { $0.field < $1.field }
    }

    package var hasQuarantined: Bool { entries.values.contains { $0.problem != nil } }

    /// Names of the keys that quarantined values need.
    package var missingKeys: Set<String> {
        Set(entries.values.compactMap { if case .missingKey(let key)? = $0.problem { key } else { nil } })
    }

    /// Whether a quarantined value may arrive unchanged later: a copy of the record without it would lose it.
    package var awaitsValues: Bool {
        entries.values.contains { entry in
            switch entry.problem {
            case .missingKey, .missingAsset: true
            case .damaged, .stale, nil: false
            }
        }
    }

    /// Whether an export may send the field: a value that only lacks its key is not replaced by an older one.
    func maySend(_ field: String) -> Bool {
        guard let entry = entries[field], case .missingKey? = entry.problem else { return true }
        return entry.isReplacing
    }

    package var isReplacingAny: Bool { entries.values.contains(where: \.isReplacing) }

    package func isReplacing(_ field: String) -> Bool { entries[field]?.isReplacing == true }

    /// The number of the next value of a field.
    ///
    /// - Parameter isNew: Whether the value is sent with a new record, which replaces nothing: after a restore of the server, it may be older than
    ///   the quarantined one, and another device may send that.
    func nextVersion(of field: String, isNew: Bool) -> UInt64 {
        let entry = entries[field]
        let version = (isNew ? entry?.version : entry?.versionMax) ?? 0
        return version == .max ? version : version + 1
    }

    /// Adopts that the server stored the next value of a field.
    ///
    /// - Parameters:
    ///   - isNew: Whether the record is a new one.
    ///   - isOutdated: Whether the record was marked again while the value was in flight. A replacement that is due then may need another key
    ///     than that of the value: it stays due.
    mutating func advance(_ field: String, isNew: Bool, isOutdated: Bool) {
        var entry = Entry(version: nextVersion(of: field, isNew: isNew))
        entry.isReplacing = isOutdated && isReplacing(field)
        entries[field] = entry
    }

    /// Ends replacements of values that a created record does not have.
    ///
    /// - Parameter fields: The fields of the created record.
    mutating func endReplacements(notIn fields: [String: Field]) {
        for (field, entry) in entries where entry.isReplacing && entry.problem == nil && entry.version == 0 {
            guard !fields.keys.contains(field), !fields.keys.contains(field + MirrorNames.assetSuffix) else { continue }
            entries[field] = nil
        }
    }

    /// Ends the quarantine of missing assets that a saved request has replaced.
    ///
    /// - Parameters:
    ///   - fields: The fields of the request.
    ///   - isNew: Whether the request created the record: it has no other values then.
    mutating func replaceMissingAssets(sent fields: [String: Field], isNew: Bool) {
        for (field, entry) in entries where entry.problem == .missingAsset {
            let isSent = fields.keys.contains(field) || fields.keys.contains(field + MirrorNames.assetSuffix)
            guard isNew || isSent else { continue }
            let version = isSent && !isNew ? entry.versionMax : entry.version
            entries[field] = version == 0 && entry.tag == nil ? nil : Entry(version: version, tag: entry.tag)
        }
    }

    // MARK: Text

    /// The stored form: a line with field, version, tag, reason and number of a quarantined value for each field; nil without entries.
    package var text: String? {
        if entries.isEmpty { return nil }
        return entries.sorted { $0.key < $1.key }.map { field, entry in
            var line = "\(field) \(entry.version) \(entry.tag ?? "-")"
            switch entry.problem {
            case .missingKey(let key): line += " key:\(key)"
            case .damaged: line += " damaged"
            case .stale: line += " stale"
            case .missingAsset: line += " no-asset"
            case nil: break
            }
            if entry.quarantinedVersion > 0 { line += " number:\(entry.quarantinedVersion)" }
            return line + (entry.isReplacing ? " replace" : "")
        }.joined(separator: "\n")
    }

    /// Lines of another form are skipped.
    package init(text: String?) {
        for line in text?.split(separator: "\n") ?? [] {
            let parts = line.split(separator: " ")
            guard parts.count >= 3, let version = UInt64(parts[1]) else { continue }
            var entry = Entry(version: version, tag: parts[2] == "-" ? nil : String(parts[2]))
            var isKnown = true
            for part in parts[3...] {
                switch part {
                case "damaged": entry.problem = .damaged
                case "stale": entry.problem = .stale
                case "no-asset": entry.problem = .missingAsset
                case "replace": entry.isReplacing = true
                case let key where key.hasPrefix("key:"): entry.problem = .missingKey(String(key.dropFirst(4)))
                case let number where number.hasPrefix("number:"): entry.quarantinedVersion = UInt64(number.dropFirst(7)) ?? 0
                default: isKnown = false
                }
            }
            if isKnown { entries[String(parts[0])] = entry }
        }
    }
}
