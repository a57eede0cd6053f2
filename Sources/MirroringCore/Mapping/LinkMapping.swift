// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel

/// Which many-to-many relationship a link record belongs to, as it is written in the record.
package struct LinkKind: Hashable, Sendable {
    /// `Post:Tag`
    package let entityNames: String
    /// `tags:posts`, in the order of ``entityNames``
    package let relationships: String

    package init(entityNames: String, relationships: String) {
        self.entityNames = entityNames
        self.relationships = relationships
    }
}

/// One linked pair of objects, by record name, in the order of its kind.
package struct LinkPair: Hashable, Sendable {
    package let kind: LinkKind
    package let first: String
    package let second: String

    package init(kind: LinkKind, first: String, second: String) {
        self.kind = kind
        self.first = first
        self.second = second
    }

    /// Few pairs of objects are linked by two relationships: the texts of the kind cost more than those of the names.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(first)
        hasher.combine(second)
    }
}

/// A many-to-many relationship. Its pairs are join records of type `CDMR`.
///
/// The first side is the one with the alphabetically first entity; the relationship's name decides between
/// equal entities. Several records for one pair are harmless: two devices may have linked the same two objects.
///
/// Source: *Reading CloudKit Records for Core Data*, "many-to-many"; the separator is a colon in samples and
/// live data and a semicolon in the text, so a colon is written and both are read. Around names of records that have
/// colons themselves, which other programs may make, stands a semicolon, in all three fields.
package struct LinkMapping: Hashable, Sendable {
    package struct Side: Hashable, Sendable {
        /// The entity that declares the relationship.
        package let entity: Int
        /// The entity's name in records.
        package let entityName: String
        /// Index into `toMany`, of the entity and of its heirs.
        package let relationship: Int
        /// The relationship's name in records.
        package let relationshipName: String
        /// Whether the order of its members is mirrored.
        package let isOrdered: Bool
    }

    package let kind: LinkKind
    package let first: Side
    package let second: Side

    /// Whether the relationship is its own inverse, as in "friends": a pair has no direction then.
    package var isSymmetric: Bool { first == second }

    init(_ one: Side, _ other: Side) {
        let inOrder = (one.entityName, one.relationshipName) <= (other.entityName, other.relationshipName)
        first = inOrder ? one : other
        second = inOrder ? other : one
        kind = LinkKind(
            entityNames: "\(first.entityName):\(second.entityName)",
            relationships: "\(first.relationshipName):\(second.relationshipName)")
    }

    /// Whether the relationship and its inverse have these names, in either order.
    fileprivate func hasSides(_ one: String, _ other: String) -> Bool {
        (first.relationshipName == one && second.relationshipName == other)
            || (first.relationshipName == other && second.relationshipName == one)
    }

    /// - Parameter owner: The record name of the object that has the relationship at `toMany` of its entity.
    package func pair(owner: String, ownersRelationship: Int, ownersEntity: Int, destination: String, in mapping: RecordMapping) -> LinkPair
    {
        if isSymmetric {
            return LinkPair(kind: kind, first: min(owner, destination), second: max(owner, destination))
        }
        let isFirst =
            ownersRelationship == first.relationship
            && mapping.model.entities[first.entity].hierarchy.contains(ownersEntity)
        return isFirst
            ? LinkPair(kind: kind, first: owner, second: destination)
            : LinkPair(kind: kind, first: destination, second: owner)
    }
}

extension RecordMapping {
    /// - Returns: nil for another record than a join record, or for a relationship that this model does not have.
    package func pair(of record: Record) -> LinkPair? {
        guard record.recordType == MirrorNames.linkRecordType,
            case .string(let kind)? = record.fields[MirrorNames.linkEntityNames]?.value
        else { return nil }
        // Names of entities have neither.
        let separators = kind.utf8.contains(UInt8(ascii: ":")) ? ":;" : ";:"
        guard let entities = Self.parts(record.fields[MirrorNames.linkEntityNames], separators),
            let names = Self.parts(record.fields[MirrorNames.linkRecordNames], separators),
            let relationships = Self.parts(record.fields[MirrorNames.linkRelationships], separators)
        else { return nil }
        // The entities named may be heirs of those that declare the relationship, and in either order.
        guard let one = entity(syncName: entities.0), entity(syncName: entities.1) != nil,
            let index = toMany(syncName: relationships.0, of: one.index), let link = link(entity: one.index, toMany: index),
            link.hasSides(relationships.0, relationships.1)
        else { return nil }
        return link.pair(owner: names.0, ownersRelationship: index, ownersEntity: one.index, destination: names.1, in: self)
    }

    /// The fields of a new link record.
    static func fields(of link: LinkState) -> [String: Field] {
        let pair = link.pair
        let separator = pair.first.contains(":") || pair.second.contains(":") ? ";" : ":"
        func separated(_ text: String) -> Field { Field(.string(separator == ":" ? text : text.replacing(":", with: separator))) }
        var fields = [
            MirrorNames.linkEntityNames: separated(pair.kind.entityNames),
            MirrorNames.linkRecordNames: Field(.string("\(pair.first)\(separator)\(pair.second)")),
            MirrorNames.linkRelationships: separated(pair.kind.relationships),
        ]
        fields[MirrorNames.linkRanks] = field(of: link.ranks)
        return fields
    }

    /// Splits the text of a field at its only separator.
    ///
    /// - Parameter separators: The likelier one first.
    private static func parts(_ field: Field?, _ separators: String) -> (String, String)? {
        guard case .string(let text)? = field?.value else { return nil }
        // To break a text into characters takes longer than all else that a join record needs.
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        return isASCII
            ? halves(of: text.utf8, separators.utf8).map { (String(Substring($0)), String(Substring($1))) }
            : halves(of: text, separators).map { (String($0), String($1)) }
    }

    private static func halves<Text: Collection>(of text: Text, _ separators: Text) -> (Text.SubSequence, Text.SubSequence)?
    where Text.Element: Equatable {
        guard let separator = separators.first(where: { text.contains($0) }), let end = text.firstIndex(of: separator) else { return nil }
        let first = text[..<end], second = text[text.index(after: end)...]
        return first.isEmpty || second.isEmpty || second.contains(separator) ? nil : (first, second)
    }
}
