// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// What one request changed in one zone of a private database: the page that `changes/zone` would answer to who knows the zone
/// up to the request.
package struct PushedChanges: Hashable, Sendable {
    /// Records of a request that changed more are to be fetched.
    package static let recordsMax = 20
    /// Bytes of records at most.
    package static let bytesMax = 32_768

    /// The point of the zone's history that the page follows. It is no page for who stands elsewhere.
    package var previousSyncToken: String
    package var page: ZoneChanges
    /// The point of the database's history before the request. Whose list of zones stands there need not ask for it again: no
    /// other zone changed.
    package var previousDatabaseToken: String
    package var databaseToken: String

    package init(previousSyncToken: String, page: ZoneChanges, previousDatabaseToken: String, databaseToken: String) {
        self.previousSyncToken = previousSyncToken
        self.page = page
        self.previousDatabaseToken = previousDatabaseToken
        self.databaseToken = databaseToken
    }
}
