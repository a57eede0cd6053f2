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
        let side: OneToOneSide
    }

    static func run(_ claims: [Claim], _ work: inout ImportWorkspace) {
        for claim in claims { displaceIfTaken(claim, &work) }
    }

    /// Returns the claim of an object after the other object's field lost a merge.
    ///
    /// - Parameters:
    ///   - property: The claimed object's relationship, which the server says is to the claimant.
    ///   - entity: The claimed object's entity.
    static func rejectedClaim(of claimant: String, by claimed: String, _ property: PropertyMapping, of entity: EntityMapping) -> Claim? {
        entity.oneToOneSide(of: property).map { Claim(claimant: claimant, claimed: claimed, side: $0) }
    }

    /// Returns the claim of an object that the server relates to another one.
    ///
    /// - Parameters:
    ///   - property: The claimant's relationship, which the server says is to the claimed object.
    ///   - entity: The claimant's entity.
    static func claim(of claimant: String, to claimed: String, _ property: PropertyMapping, of entity: Int, in work: ImportWorkspace)
        -> Claim?
    {
        guard let side = work.mapping.entities[entity]?.oneToOneSide(of: property), let key = work.objects[claimed]?.key,
            let inverse = work.mapping.oneToOneSides(of: key.entityIndex).first(where: { $0.name == side.inverseName })
        else { return nil }
        return Claim(claimant: claimant, claimed: claimed, side: inverse)
    }

    private static func displaceIfTaken(_ claim: Claim, _ work: inout ImportWorkspace) {
        guard let claimed = work.objects[claim.claimed], var claimant = work.objects[claim.claimant], claimed.stage == .needsUpload,
            let claimedSide = work.mapping.entities[claimed.key.entityIndex]?.property(named: claim.side.name),
            let claimantSide = work.mapping.entities[claimant.key.entityIndex]?.property(named: claim.side.inverseName),
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
