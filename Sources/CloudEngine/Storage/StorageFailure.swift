// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A storage could not do its work. The text is constant and names no value.
package struct StorageFailure: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        case busy, full, corrupt, unavailable, newerFormat, inUse, notWritable, nameTaken, unknownName
        /// The S3-compatible store of assets failed.
        case objectStore
        /// The data is in another database: nothing is written here.
        case moved
        /// The data of another database is moving to this one.
        case arriving
        /// The connection was lost during a commit, and whether it was carried out is not known. The request has an idempotency key, so the
        /// client may send it again.
        case inDoubt
    }

    package var code: Code
    package var what: String

    package init(_ code: Code, _ what: String) {
        self.code = code
        self.what = what
    }

    /// An account was looked up by a name that no account has.
    package static let unknownUser = StorageFailure(.unknownName, "the user does not exist")
    /// A database whose data is elsewhere.
    package static let moved = StorageFailure(.moved, "the data was moved to another database")
    /// A database that gets the data of another one.
    package static let isArriving = StorageFailure(.arriving, "a move to the database has not ended")
    /// A commit whose outcome no later attempt could read.
    package static let inDoubt = StorageFailure(.inDoubt, "the connection was lost during a commit: its outcome could not be read")
    /// The file of an asset that the database has is missing from the data folder, or from the S3 store.
    package static let missingFile = StorageFailure(.unavailable, "the file of an asset is missing")
    /// The folder of assets has no file at all: its volume is not mounted, rather than a file lost.
    package static let missingFolder = StorageFailure(
        .unavailable, "the folder of assets is missing or empty: mount its volume, or restore the files")
    /// A database that no server has used yet.
    package static let noData = StorageFailure(.unknownName, "the database has no data of a tarn server")
}
