// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit

/// What a run is about beside objects of the private database that a push stream tells of.
package enum Feature: String, CaseIterable, Sendable {
    /// Values that are too long for a record travel as assets.
    case assets
    /// Syncing is paused and resumed, and somebody waits until it is done.
    case pauses
    /// Devices that no stream reaches ask for notifications one by one.
    case polling
    /// One user's objects are shared with others, who may change or only read them.
    case sharing
    /// The public database, on a server that has a feed of its changes.
    case publicFeed
    /// The public database, on a server that offers what is documented.
    case publicQueries
    /// A model beyond Apple's rules: lists that keep their order, values that are unique, objects that need others.
    case extensions
    /// Devices send a few items at once, and plan the next while some are on their way.
    case batches
    /// Several shares at once, of objects that are not related to each other. Needs `sharing`.
    case severalShares
    /// The owner changes what participants may do, one of whom joined by the link. Needs `sharing`.
    case permissions
    /// Saves of many objects, change pages of a few records, and devices that stage pages in their stores' files.
    case wholeSaves
    /// A participant with read-only access deletes objects, too, and gives up its rejected changes in the end. Needs `sharing`.
    case rejections

    /// Seeds have features by numbers of their own, so that a seed is the same run without them.
    static func draw(seed: UInt64) -> Set<Feature> {
        var random = SeededNumbers(seed: ~seed &+ 2)
        var features: Set<Feature> = []
        for feature in [Feature.assets, .pauses, .polling] where random.percent(30) { features.insert(feature) }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<20: features.insert(.sharing)
        case 20..<32: features.insert(.publicFeed)
        case 32..<40: features.insert(.publicQueries)
        // What came later draws from numbers of its own.
        default:
            var later = SeededNumbers(seed: ~seed &+ 4)
            if later.percent(25) { features.insert(.extensions) }
        }
        var last = SeededNumbers(seed: ~seed &+ 6)
        if last.percent(30) { features.insert(.batches) }
        var shares = SeededNumbers(seed: ~seed &+ 8)
        for feature in [Feature.severalShares, .permissions, .rejections] where shares.percent(40) && features.contains(.sharing) { features.insert(feature) }
        var newest = SeededNumbers(seed: ~seed &+ 7)
        if newest.percent(30) { features.insert(.wholeSaves) }
        return features
    }
}

extension Set<Feature> {
    var isPublic: Bool { contains(.publicFeed) || contains(.publicQueries) }

    /// Whether no device shows part of a save: one that spans several zones arrives zone by zone, and queries never show a moment of the
    /// database. Requests of three items carry parts of saves, unless the server executes several in one transaction.
    var keepsSavesWhole: Bool { isDisjoint(with: [.sharing, .publicQueries]) && (!contains(.batches) || contains(.wholeSaves)) }

    /// Kinds of faults that do not go with them: nobody purges the public database, or what is shared, and each device stays
    /// with its user there. What was merged is known no more when an account goes.
    var excluded: Set<FaultPlan.Kind> {
        if isPublic || contains(.sharing) { return [.purge, .accounts] }
        return contains(.extensions) ? [.accounts] : []
    }

    var description: String { map(\.rawValue).sorted().joined(separator: " ") }
}

/// What the user of a device has to do with the objects on it.
enum Role: Sendable {
    case owner
    /// Takes part in what the owner shares.
    case guest
    /// May only read what the owner shares.
    case reader
    /// Has a store of the public database, in which everybody changes their own.
    case citizen

    var scope: CKDatabase.Scope {
        switch self {
        case .owner: .private
        case .guest, .reader: .shared
        case .citizen: .public
        }
    }
}
