// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// What happens to the objects of a zone that the server has deleted: the home zone, or the zone of a share.
///
///     zone      remaining   rows that are deleted      objects that stay
///     share     nothing     all                        –
///     share     unsent      those the server had       unsent ones go to the home zone, relocated ones back to it
///     share     all         –                          all go to the home zone and are sent again
///     home      unsent      those the server had       unsent ones
///
/// Objects that others share are not the user's to send: of them, `all` is `unsent`, and the store is archived.
package struct ZoneRemoval: Hashable, Sendable {
    /// Which objects of a deleted zone stay on the device.
    package enum Remaining: Hashable, Sendable {
        case nothing
        /// Objects that the server never had.
        case unsent
        /// All objects, if no user deleted them: the user's keys were reset, and with them the server's copies, or the server was restored
        /// from a backup without the zone.
        case all

        /// Of the reasons that a list of zones names, only a reset of the user's keys keeps everything: after a deletion or a purge, the
        /// server has said that its records are unwanted.
        package init(after reason: ZoneDeletionReason) { self = reason == .encryptedDataReset ? .all : .unsent }
    }

    package enum DeletedRows: Hashable, Sendable {
        case all
        /// Rows with records that the server had, and unsent ones that require one of them.
        case onServer
    }

    package enum UnsentObjects: Hashable, Sendable {
        case areDeleted
        case stay
        case moveHome
    }

    /// Whether everything in the zone becomes unsent. Another device may have sent the same objects to the home zone already: those are
    /// deleted there, and merged when the home zone is fetched again.
    package let marksEverythingUnsent: Bool
    /// Whether objects that were relocated to the zone, and have not arrived, belong to the home zone again.
    package let takesBackRelocations: Bool
    package let deletedRows: DeletedRows
    package let unsentObjects: UnsentObjects
    /// Why the store is archived before rows are deleted, and the app is informed; nil if it is not archived.
    package let archivedBecause: AccountChange.Kind?
    /// Whether the zone is fetched again from its beginning. The zone of a share is forgotten instead.
    package let fetchesAgain: Bool

    /// - Parameters:
    ///   - isHome: Whether it is the home zone.
    ///   - ownsObjects: Whether the objects are the user's to send, as in the private database.
    package init(isHome: Bool, keeping remaining: Remaining, ownsObjects: Bool) {
        marksEverythingUnsent = !isHome && remaining == .all && ownsObjects
        takesBackRelocations = !isHome && remaining != .nothing
        deletedRows = remaining == .nothing ? .all : .onServer
        unsentObjects = remaining == .nothing ? .areDeleted : isHome ? .stay : .moveHome
        archivedBecause =
            if isHome { remaining == .nothing ? nil : .dataDeleted } else { remaining == .all && !ownsObjects ? .shareLost : nil }
        fetchesAgain = isHome
    }
}
