// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService

/// A store of the complete files of assets outside of the server's machine. ``AssetFolder`` has the files that are still arriving, and those
/// that arrived before the server had such a store.
///
/// A request over the network has no place in a unit of work, so the order of object and row replaces the unit:
///
/// - Each upload makes an object of its own name, before the unit that stores the row. A removal never hits an object that another
///   upload has just made under the same name.
/// - Objects are removed later than rows: by ``removeUnreferenced(now:isReferenced:)``, and only a day after they were made, when the
///   unit that might store their row has long ended.
///
/// Invariant: a row that is committed has an object or a file.
package protocol AssetObjects: Sendable {
    /// Checks that the store can be used, and that it is this database's.
    ///
    /// - Parameters:
    ///   - owner: A random identifier of the database.
    ///   - makesOwner: Whether a store without an owner becomes this database's.
    /// - Throws: ``S3Failure``.
    func claim(_ owner: String, makesOwner: Bool) async throws
    /// Whether the store belongs to a database.
    ///
    /// - Throws: ``S3Failure``.
    func hasOwner() async throws -> Bool
    /// Whether ``claim(_:makesOwner:)`` has succeeded. The other functions are called after it.
    var isClaimed: Bool { get }

    /// Brings a complete file to the store, durably.
    ///
    /// - Parameter path: Of the file, which stays.
    /// - Returns: The object's name, for ``discard(_:)``.
    /// - Throws: `StorageFailure`, with `.corrupt` if the file no longer has the asset's checksum.
    func add(_ asset: StoredAsset, at path: String, part: Int64) async throws -> String

    /// Removes an object that ``add(_:at:part:)`` made and no row has. One that stays is removed with the unreferenced ones.
    func discard(_ name: String) async

    /// Opens the object of an asset that has a row.
    ///
    /// An object that the process knows is not requested: a reader of a lost one throws ``StorageFailure/missingFile`` at its first read.
    ///
    /// - Throws: `StorageFailure`; ``StorageFailure/missingFile`` without an object.
    func open(_ asset: StoredAsset, part: Int64) async throws -> any AssetReader

    /// Whether an asset that has a row has an object. The store is asked, also for an object that the process knows.
    ///
    /// - Throws: `StorageFailure`.
    func contains(_ asset: StoredAsset, part: Int64) async throws -> Bool

    /// Removes all objects of a partition.
    ///
    /// - Throws: `StorageFailure`.
    func removeAll(part: Int64) async throws

    /// Removes objects without a row, and the rest of uploads that were abandoned, once a day.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970 UTC.
    ///   - isReferenced: Whether there is a row.
    /// - Throws: `StorageFailure`, and errors of `isReferenced`.
    func removeUnreferenced(
        now: Int64, isReferenced: @Sendable (_ part: Int64, _ checksum: String) async throws -> Bool
    ) async throws
}
