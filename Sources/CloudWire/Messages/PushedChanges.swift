// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The changes of one request in one zone of a private database: the page that `changes/zone` would return to a client
/// with the token before the request.
package struct PushedChanges: Hashable, Sendable {
    /// Maximum number of records. A larger request is to be fetched.
    package static let recordsMax = 20
    /// Maximum size of the records in bytes.
    package static let bytesMax = 32_768

    /// The token that the page follows. A client with another token cannot use the page.
    package var previousSyncToken: String
    package var page: ZoneChanges
    /// The database's token before the request. A client with this token need not fetch the list of zones: no other
    /// zone changed.
    package var previousDatabaseToken: String
    package var databaseToken: String

    package init(previousSyncToken: String, page: ZoneChanges, previousDatabaseToken: String, databaseToken: String) {
        self.previousSyncToken = previousSyncToken
        self.page = page
        self.previousDatabaseToken = previousDatabaseToken
        self.databaseToken = databaseToken
    }
}
