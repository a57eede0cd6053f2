// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// Keeps one-to-one relationships two-sided.
///
/// Both sides have a field, each of which is merged alone. If this device gave an object another inverse object, and has not sent that, the
/// inverse object that the server knows is displaced: its side is cleared, or two objects would claim the same one.
struct OneToOnePass {
    /// One end that may have to be displaced. Both are record names.
    struct Claim {
        let claimant: String
        let claimed: String
        /// The claimed object's relationship.
        let relationship: ResolvedRelationship
    }

    static func run(_ claims: [Claim], _ work: inout ImportWorkspace) {
        for claim in claims { displaceIfTaken(claim, &work) }
    }

    /// Returns the claim of an object after the other object's field lost a merge.
    ///
    /// - Parameter property: The claimed object's relationship, which the server says is to the claimant.
    static func rejectedClaim(of claimant: String, by claimed: String, _ property: PropertyMapping) -> Claim? {
        guard case .toOne(let relationship) = property.kind, relationship.shape == .oneToOne else { return nil }
        return Claim(claimant: claimant, claimed: claimed, relationship: relationship)
    }

    /// Returns the claim of an object that the server relates to another one.
    ///
    /// - Parameter property: The claimant's relationship, which the server says is to the claimed object.
    static func claim(of claimant: String, to claimed: String, _ property: PropertyMapping, in work: ImportWorkspace) -> Claim? {
        guard case .toOne(let relationship) = property.kind, relationship.shape == .oneToOne,
            let name = work.mapping.inverseName(of: relationship),
            let key = work.objects[claimed]?.key, let inverse = work.mapping.entities[key.entityIndex]?.property(named: name),
            case .toOne(let inverseRelationship) = inverse.kind
        else { return nil }
        return Claim(claimant: claimant, claimed: claimed, relationship: inverseRelationship)
    }

    private static func displaceIfTaken(_ claim: Claim, _ work: inout ImportWorkspace) {
        guard let claimed = work.objects[claim.claimed], var claimant = work.objects[claim.claimant], claimed.stage == .needsUpload,
            let inverseName = work.mapping.inverseName(of: claim.relationship),
            let claimedSide = work.mapping.entities[claimed.key.entityIndex]?.property(named: claim.relationship.declaration.syncName),
            let claimantSide = work.mapping.entities[claimant.key.entityIndex]?.property(named: inverseName),
            work.rows[claimant.key]?.values[claimantSide.slot] == .reference(claimed.key), let row = work.rows[claimed.key],
            row.values[claimedSide.slot] != .reference(claimant.key),
            // The server has the pair, and it was separated here.
            claimedSide.target(claimedSide.content(in: claimed.ancestor.fields)) == claim.claimant,
            work.deferred[claim.claimed, claimedSide.name] == nil
        else { return }
        work.rows.set(.null, slot: claimantSide.slot, of: claimant.key)
        work.log(.string(claim.claimed), of: claimantSide, claimant, winner: .local, losing: claimant.modified, winning: nil)
        claimant.failure = nil
        work.markChanged(claimant)
    }
}
