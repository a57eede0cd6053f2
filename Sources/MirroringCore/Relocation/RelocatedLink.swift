// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

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
    ///   - mark: The number of the last history transaction.
    ///   - keepsSource: Whether the server has the source zone.
    ///   - hasBothEndsAtSource: Whether the source zone has records of both objects, current or relocated.
    package init(_ link: LinkState, mark: Int64, keepsSource: Bool, hasBothEndsAtSource: Bool) {
        var destination = link
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

    /// Returns `true` if a link goes to the zone of one of its objects.
    ///
    /// - Parameter isOtherEndAtDestination: Whether the other object is there as well: links never lead from one zone to another.
    package static func isRelocatable(_ link: LinkState, isOtherEndAtDestination: Bool) -> Bool {
        link.stage != .needsDelete && isOtherEndAtDestination
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
