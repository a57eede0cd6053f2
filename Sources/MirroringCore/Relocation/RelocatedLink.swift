// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// The join records of a pair that is relocated with its objects.
package struct RelocatedLink: Hashable, Sendable {
    /// The link in the destination zone. It is sent as a new one.
    package let destination: LinkState
    /// The link to be deleted in the source zone; nil if the server has no source zone.
    package let source: LinkState?
    /// Whether the rows have to be linked: the link arrived in the source zone after one of its objects had left, and no device shows it.
    package let isLinkedOnArrival: Bool

    /// - Parameters:
    ///   - link: A link of the source zone.
    ///   - pair: Its pair by the names of the destination zone.
    ///   - mark: The number of the last history transaction.
    ///   - keepsSource: Whether the server has the source zone.
    ///   - hasBothEndsAtSource: Whether the source zone has records of both objects, current or relocated.
    package init(_ link: LinkState, as pair: LinkPair? = nil, mark: Int64, keepsSource: Bool, hasBothEndsAtSource: Bool) {
        var destination = link
        if let pair { destination.pair = pair }
        destination.stage = .needsUpload
        destination.mark = mark
        destination.changeTag = nil
        destination.failure = nil
        destination.generation = 0
        self.destination = destination
        isLinkedOnArrival = keepsSource && !hasBothEndsAtSource
        guard keepsSource else {
            source = nil
            return
        }
        var source = link
        source.stage = .needsDelete
        source.mark = mark
        source.failure = nil
        self.source = source
    }

    /// Returns `true` if the source zone has the objects of both ends of a link, current or relocated: this device has shown the pair.
    ///
    /// A withheld record is that of another object, which has the record name and the unique values of a relocated one. A link that names
    /// it follows the relocated object, since the two objects are merged where they meet.
    ///
    /// - Parameters:
    ///   - hasRecord: Whether the source zone has a record of a name, current or relocated.
    ///   - isWithheld: Whether the source zone withholds a record of a name.
    package static func hasBothEnds(
        _ link: LinkState, hasRecord: (String) throws -> Bool, isWithheld: (String) throws -> Bool
    ) rethrows -> Bool {
        try [link.pair.first, link.pair.second].allSatisfy { try hasRecord($0) && !isWithheld($0) }
    }

    /// Returns the pair of a link by the names of the destination zone; nil if the link stays. Links never lead from one zone to another.
    ///
    /// - Parameter end: Returns the destination name of an object.
    package static func pair(of link: LinkState, isSymmetric: Bool, end: (String) throws -> String?) rethrows -> LinkPair? {
        guard link.stage != .needsDelete, let first = try end(link.pair.first), let second = try end(link.pair.second) else { return nil }
        let isOrdered = !isSymmetric || first <= second
        return LinkPair(kind: link.pair.kind, first: isOrdered ? first : second, second: isOrdered ? second : first)
    }

    /// Returns the deletion of a link that stays in the source zone while one of its objects is relocated; nil if the pair is linked.
    ///
    /// An object is relocated with all objects that it is linked with. A pair that stays behind, with rows of both objects, was unlinked in
    /// history that is still to be read. The relocated object's history is that of the destination zone, which does not have the link.
    ///
    /// - Parameters:
    ///   - link: A link of the source zone.
    ///   - mark: The number of the last history transaction.
    ///   - isLinked: Whether the rows of both objects are linked; nil if one of them has no row.
    package static func deletion(ofStaying link: LinkState, mark: Int64, isLinked: Bool?) -> LinkState? {
        guard link.isLive, isLinked == false else { return nil }
        var link = link
        link.stage = .needsDelete
        link.mark = mark
        link.failure = nil
        return link
    }

    /// Returns the object of the home zone that follows another one, with which a link of the home zone joins it; nil if it stays.
    ///
    /// Objects that are linked are relocated together. But the row of one may have been withheld when that was decided: then no rows were
    /// linked, and the other object follows when the row is there. It does not follow a record that a participant created under the name.
    ///
    /// - Parameters:
    ///   - target: The object of the destination zone. The home zone has no record of its name.
    ///   - record: Returns a record of the home zone.
    package static func follower(
        of link: LinkState, to target: RecordState, record: (String) throws -> RecordState?
    ) rethrows -> RowKey? {
        guard link.isLive, let other = try record(link.pair.end(opposite: target.recordName)),
            DeferredReferenceFollowers.isFollower(other), DeferredReferenceFollowers.isOwners(target, as: other)
        else { return nil }
        return other.key
    }

    /// Returns the name that an object has in the destination zone; nil if it is not there.
    ///
    /// - Parameters:
    ///   - name: Its name in the source zone.
    ///   - source: The record of that name in the source zone.
    ///   - hasRecord: Whether the destination zone has a record of a name.
    ///   - isWithheld: Whether the destination zone withholds a record of a name: its object is there, though no row shows it.
    ///   - nameOf: Returns the name of a row's record in the destination zone.
    package static func destinationName(
        of name: String, source: RecordState?, hasRecord: (String) throws -> Bool, isWithheld: (String) throws -> Bool,
        nameOf: (RowKey) throws -> String?
    ) rethrows -> String? {
        if let source { return source.isRelocated ? try nameOf(source.key) : nil }
        return try hasRecord(name) || isWithheld(name) ? name : nil
    }
}

extension LinkPair {
    /// Returns the record name of the other end.
    package func end(opposite name: String) -> String { first == name ? second : first }
}

extension LinkState {
    /// Returns the link in the zone where another device has created it, as ``RecordState/adopted(as:)`` does.
    package func adopted() -> LinkState {
        var link = self
        link.changeTag = ""
        link.failure = nil
        link.generation = 0
        return link
    }
}
