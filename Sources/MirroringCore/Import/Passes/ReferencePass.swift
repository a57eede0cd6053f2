// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Resolves to-one relationships to rows, after all rows of the page are known. A reference whose target has not arrived is deferred.
struct ReferencePass {
    /// - Returns: The ends of one-to-one relationships that the page's records claim.
    static func run(_ references: [RecordPass.Reference], _ work: inout ImportWorkspace) -> [OneToOnePass.Claim] {
        let claims = references.compactMap { resolve($0, &work) }
        for name in work.objects.inserted { work.resolveReferences(to: name) }
        return claims
    }

    private static func resolve(_ reference: RecordPass.Reference, _ work: inout ImportWorkspace) -> OneToOnePass.Claim? {
        guard let source = work.objects[reference.source] else { return nil }
        let (property, key) = (reference.property, source.key)
        work.deferred.resolve(reference.source, property.name)
        guard let target = reference.target else {
            work.rows.set(.null, slot: property.slot, of: key)
            return nil
        }
        if let destination = work.row(named: target, fitting: property, isRelocated: source.isRelocated) {
            work.rows.set(.reference(destination), slot: property.slot, of: key)
            return OneToOnePass.claim(of: reference.source, to: target, property, of: key.entityIndex, in: work)
        }
        work.rows.set(.null, slot: property.slot, of: key)
        work.deferred.defer(reference.source, property.name, to: target)
        return nil
    }
}
