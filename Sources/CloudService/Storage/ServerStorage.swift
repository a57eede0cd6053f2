// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine

/// Everything that a server stores, with its housekeeping. One conformance for each database.
package protocol ServerStorage: EngineStorage, AccountStorage, AssetStorage, AdministrationStorage {
    /// Makes and checks the codes in change tokens and addresses, with keys that never leave the database.
    var sealer: Sealer { get }
    /// Commits of this process so far.
    var commits: Int { get }
    /// What all databases take together.
    func totalUsage() async throws -> StoredBytes
    /// Sets the retention of record versions. With 0 none are stored, and ``removeExpired(now:)`` removes the stored ones.
    func keepHistory(milliseconds: Int64, now: Int64) async throws
    /// Removes expired rows and files: at start, and every hour.
    func removeExpired(now: Int64) async throws
    /// Closes all connections once running work has ended. Requests after it fail.
    func close() throws
}
