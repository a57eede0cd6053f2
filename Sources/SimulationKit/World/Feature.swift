// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit

/// Features of a run beyond objects of the private database and a push stream.
package enum Feature: String, CaseIterable, Sendable {
    /// Values that are too long for a record become assets.
    case assets
    /// Sync is paused and resumed, and apps wait for it.
    case pauses
    /// Devices without a push stream poll for notifications.
    case polling
    /// One user's objects are shared with others, with read-only or read-write permission.
    case sharing
    /// The public database, on a server with a change feed for it.
    case publicFeed
    /// The public database, on a server with the documented protocol only.
    case publicQueries
    /// A model with extensions: ordered lists, unique values, required objects.
    case extensions
    /// Devices send small batches, and pipeline the next one.
    case batches
    /// Several concurrent shares of unrelated objects. Needs `sharing`.
    case severalShares
    /// The owner changes the permissions of participants, one of which joined by the link. Needs `sharing`.
    case permissions
    /// Saves of many objects, change pages of a few records, and devices that stage pages in their stores' files.
    case wholeSaves
    /// A participant with read-only access also deletes objects, and discards its rejected changes in the end. Needs
    /// `sharing`.
    case rejections
    /// The server is restored from a backup that lacks saves of the devices, and shares. Drawn without shares.
    case restores
    /// The later version of the model renames, retires, retypes and splits parts. Drawn without shares and the public database.
    case modelChanges
    /// The same backup is restored again and again. Needs `restores`.
    case repeatedRestores
    /// Some devices have a `TarnMirror` next to an `NSPersistentContainer`. Drawn without features that it does not have.
    case mirror

    /// A mirror has the private database alone, and rejects models with extensions and with lenses.
    static let absentInMirrors: Set<Feature> = [.sharing, .publicFeed, .publicQueries, .extensions, .modelChanges]

    /// Features draw from their own stream of numbers, so that a seed is the same run without them.
    static func draw(seed: UInt64) -> Set<Feature> {
        var random = SeededNumbers(seed: ~seed &+ 2)
        var features: Set<Feature> = []
        for feature in [Feature.assets, .pauses, .polling] where random.percent(30) { features.insert(feature) }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<20: features.insert(.sharing)
        case 20..<32: features.insert(.publicFeed)
        case 32..<40: features.insert(.publicQueries)
        // Later features draw from a stream of their own.
        default:
            var later = SeededNumbers(seed: ~seed &+ 4)
            if later.percent(25) { features.insert(.extensions) }
        }
        var last = SeededNumbers(seed: ~seed &+ 6)
        if last.percent(30) { features.insert(.batches) }
        var shares = SeededNumbers(seed: ~seed &+ 8)
        for feature in [Feature.severalShares, .permissions, .rejections] where shares.percent(40) && features.contains(.sharing) {
            features.insert(feature)
        }
        var newest = SeededNumbers(seed: ~seed &+ 7)
        if newest.percent(30) { features.insert(.wholeSaves) }
        var restores = SeededNumbers(seed: ~seed &+ 13)
        let isRestorable = !features.isPublic && !features.contains(.sharing)
        if restores.percent(20), isRestorable { features.insert(.restores) }
        var repeated = SeededNumbers(seed: ~seed &+ 15)
        if repeated.percent(40), features.contains(.restores) { features.insert(.repeatedRestores) }
        var changes = SeededNumbers(seed: ~seed &+ 17)
        if changes.percent(25), isRestorable { features.insert(.modelChanges) }
        var mirrors = SeededNumbers(seed: ~seed &+ 21)
        if mirrors.percent(15), features.isDisjoint(with: Feature.absentInMirrors) { features.insert(.mirror) }
        return features
    }
}

extension Set<Feature> {
    var isPublic: Bool { contains(.publicFeed) || contains(.publicQueries) }

    /// Whether devices poll periodically, so that the agenda is never empty.
    var pollsForever: Bool { isPublic || contains(.mirror) }

    /// Whether no device shows part of a save. A save in several zones arrives zone by zone, and queries never show a
    /// consistent state. Requests of three items carry parts of saves, unless the server executes several in one
    /// transaction.
    var keepsSavesWhole: Bool { isDisjoint(with: [.sharing, .publicQueries]) && (!contains(.batches) || contains(.wholeSaves)) }

    /// The kinds of faults that these features exclude: the public database and shared zones are not purged, and the
    /// user of a device does not change. An account change loses the knowledge of merges.
    var excluded: Set<FaultPlan.Kind> {
        // Credentials that a user got after the backup are lost with a restore.
        if isPublic || contains(.sharing) || contains(.restores) { return [.purge, .accounts] }
        // A mirror stops for good where another account signed in or the zone was deleted, and leaves the store to its user.
        if contains(.mirror) { return [.purge, .accounts] }
        return contains(.extensions) ? [.accounts] : []
    }

    /// The kinds of faults without which these features have no effect.
    var included: Set<FaultPlan.Kind> { contains(.modelChanges) ? [.versions] : [] }

    var description: String { map(\.rawValue).sorted().joined(separator: " ") }
}

/// The role of a device's user.
enum Role: Sendable {
    case owner
    /// A participant of the owner's shares.
    case guest
    /// A participant with read-only access.
    case reader
    /// Has a store of the public database, in which each user changes only their own objects.
    case citizen

    var scope: CKDatabase.Scope {
        switch self {
        case .owner: .private
        case .guest, .reader: .shared
        case .citizen: .public
        }
    }
}
