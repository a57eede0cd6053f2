// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// One-to-one relationships have a field on both sides, each of which is merged for itself. Where this device gave an object
/// another partner, which it has not sent yet, the partner that the server knows of has to let go, or two would claim
/// the object.
extension ImportDraft {
    /// One end, which may have to let go of the other. Both are record names.
    struct Claim {
        let claimant: String
        let claimed: String
        /// That of the claimed.
        let relationship: ResolvedRelationship
    }

    /// - Parameter property: Of the claimed, which the server says is the claimant's.
    mutating func noteRefusal(of claimant: String, by claimed: String, _ property: PropertyMapping) {
        guard case .toOne(let relationship) = property.kind, relationship.shape == .oneToOne else { return }
        claims.append(Claim(claimant: claimant, claimed: claimed, relationship: relationship))
    }

    /// - Parameter property: Of the claimant, which the server says is the claimed's.
    mutating func noteClaim(of claimant: String, to claimed: String, _ property: PropertyMapping) {
        guard case .toOne(let relationship) = property.kind, relationship.shape == .oneToOne, let name = relationship.inverseName,
            let key = states[claimed]?.key, let inverse = mapping.entities[key.entityIndex]?.property(named: name),
            case .toOne(let relationship) = inverse.kind
        else { return }
        claims.append(Claim(claimant: claimant, claimed: claimed, relationship: relationship))
    }

    mutating func settleClaims() {
        for claim in claims { settle(claim) }
    }

    private mutating func settle(_ claim: Claim) {
        guard let claimed = states[claim.claimed], var claimant = states[claim.claimant], claimed.stage == .needsUpload,
            let inverseName = claim.relationship.inverseName,
            let theirs = mapping.entities[claimed.key.entityIndex]?.property(named: claim.relationship.name),
            let ours = mapping.entities[claimant.key.entityIndex]?.property(named: inverseName),
            rows[claimant.key]?.values[ours.slot] == .reference(claimed.key), let row = rows[claimed.key],
            row.values[theirs.slot] != .reference(claimant.key),
            // The server has the pair, and it was taken apart here.
            theirs.target(theirs.content(in: claimed.ancestor.fields)) == claim.claimant,
            parked[ParkedRelationship.Key(source: claim.claimed, relationship: theirs.name)] == nil
        else { return }
        rows.set(.null, slot: ours.slot, of: claimant.key)
        log(.string(claim.claimed), of: ours, claimant, winner: .local, losing: claimant.modified, winning: nil)
        if claimant.stage == .uploaded { claimant.stage = .needsUpload }
        claimant.failure = nil
        put(claimant)
    }
}
