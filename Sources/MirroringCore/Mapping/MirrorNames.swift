// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Names with which mirrored data is laid out on the server. They are Apple's, so that other clients read it.
///
/// Source: *Reading CloudKit Records for Core Data*; zone and author names observed in public logs and schemas.
package enum MirrorNames {
    package static let zone = "com.apple.coredata.cloudkit.zone"
    /// The prefix of the names of shared zones; a UUID follows.
    package static let shareZonePrefix = "com.apple.coredata.cloudkit.share."
    /// The prefix of the names of all mirrored zones.
    package static let zonePrefix = "com.apple.coredata.cloudkit."
    package static let sharedSubscription = "com.apple.coredata.cloudkit.shared.subscription"
    package static let privateSubscription = "com.apple.coredata.cloudkit.private.subscription"
    /// Author of history that import wrote: apps filter on it, and export leaves it out.
    package static let importAuthor = "NSCloudKitMirroringDelegate.import"
    /// Author of history that removes what belongs to another account or zone.
    package static let resetAuthor = "NSCloudKitMirroringDelegate.reset"
    /// Whether history was written by a mirror, which has no need to read it.
    package static func isMirror(_ author: String?) -> Bool { author == importAuthor || author == resetAuthor }

    /// Record type of a pair of a many-to-many relationship.
    package static let linkRecordType = "CDMR"
    package static let linkEntityNames = "CD_entityNames"
    package static let linkRecordNames = "CD_recordNames"
    package static let linkRelationships = "CD_relationships"
    /// The positions of linked objects in each other's ordered relationships; an extension of Tarn.
    package static let linkRanks = "CD_ranks"

    /// Field with the concrete entity's name; the record type names the root entity.
    package static let entityNameField = "CD_entityName"

    package static func recordType(forRoot entity: String) -> String { "CD_" + entity }
    /// The leaves of composite attributes have paths for names; a field's name has no dots.
    package static func field(for property: String) -> String {
        "CD_" + String(property.map { $0 == "." ? "_" : $0 })
    }
    /// Returns the property of a field, or of its asset, of an unknown model; nil for a system field.
    package static func property(ofField field: String) -> String? {
        guard field.hasPrefix("CD_"), !field.hasSuffix(rankSuffix), field != moveReceipt, field != merged, field != entityNameField else {
            return nil
        }
        return String(field.dropFirst(3).dropLast(field.hasSuffix(assetSuffix) ? assetSuffix.count : 0))
    }

    /// Returns the field with the position of an object in the ordered inverse of a relationship; an extension of Tarn.
    package static let rankSuffix = "_ckRank"
    package static func rankField(for relationship: String) -> String { field(for: relationship) + rankSuffix }

    /// The field with the superseded records of an object with unique values; an extension of Tarn.
    package static let merged = field(for: mergedProperty)
    static let mergedProperty = "ckMerged"

    /// In a stored merge base of a merged object that is to be deleted: a name for the shared unique values. Never sent.
    package static let mergedFor = "CD_ckMergedFor"

    /// In a stored merge base, never in a record on the server: properties with forwarded edits of the source zone, until the relocating
    /// device sends them.
    package static let awaited = "ckAwaited"
    /// The modification date of the source record with the edits of ``awaited``.
    package static let awaitedVersion = "ckAwaitedVersion"
    /// The server's values of the properties of ``awaited``: an encoded record.
    static let awaitedBase = "ckAwaitedBase"
    /// In a withheld record, never in one on the server: the flag that its source record is deleted, so that this device sends the edits of
    /// ``awaited``.
    static let unforwarded = "ckUnforwarded"
    /// In a stored merge base, never in a record on the server: the modification date of a source record whose edits this device sends,
    /// since the relocating device did not.
    static let forwardedVersion = "ckForwardedVersion"
    /// The fields of the source record of ``forwardedVersion``: an encoded record.
    static let forwardedEdits = "ckForwardedEdits"
    /// In a stored merge base, never in a record on the server: the record that superseded this one, until this device found that they
    /// are two objects.
    package static let separatedFrom = "ckSeparatedFrom"
    /// In a stored merge base, never in a record on the server: the record into which another device merged a separated object after all.
    package static let supersededBy = "ckSupersededBy"

    private static let storedOnly: Set<String> = [
        awaited, awaitedVersion, awaitedBase, unforwarded, forwardedVersion, forwardedEdits, separatedFrom, supersededBy,
    ]

    /// Whether a field of a stored merge base is never sent.
    static func isStoredOnly(_ field: String) -> Bool { storedOnly.contains(field) }

    /// In a received record and in stored ones, never on the server: its ``FieldStates``.
    package static let fieldStates = "ckEncryption"

    package static let assetSuffix = "_ckAsset"
    package static func assetField(for property: String) -> String { field(for: property) + assetSuffix }

    /// Where an object was before it was moved to be shared; it stands in the record in the new zone.
    package static let moveReceipt = "CD_moveReceipt"
    /// Fields without a property, in every model.
    static let taken: Set<String> = [entityNameField, moveReceipt, moveReceipt + assetSuffix, merged]
    /// Where sample records stand while the schema is initialised; it is made and removed again.
    package static let schemaZone = "com.apple.coredata.cloudkit.schema"
    /// The record in which devices of a user exchange encryption keys, and its type.
    package static let deviceApproval = "tarn-device-approval"
    package static let deviceApprovalType = "CDDeviceApproval"
    /// Fields of ``deviceApprovalType``.
    package enum DeviceApprovalField: String, CaseIterable {
        case deviceName, requested, commitment, offerKey, offerNonce, revealKey, revealNonce, keys, refused

        package var type: FieldType {
            switch self {
            case .deviceName: .string
            case .requested: .timestamp
            case .refused: .int64
            case .commitment, .offerKey, .offerNonce, .revealKey, .revealNonce, .keys: .bytes
            }
        }
    }
}
