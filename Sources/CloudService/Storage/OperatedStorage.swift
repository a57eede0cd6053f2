// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// A server's storage as commands use it, also while servers run: the operator's tasks that no request of the protocol has.
package protocol OperatedStorage: ServerStorage, RemovalStorage, PersonalDataStorage, SealingKeyStorage {
    /// A text that differs after each commit of any process; it is cheap to get.
    func stateText() async throws -> String
    /// The number of the last change of each partition of a container and environment.
    func changeCounters(containerIdentifier: String, environment: CloudEnvironment) async throws -> [(partition: Partition, counter: Int64)]
}

/// A storage that is backed up by dumps of its database.
package protocol DumpedStorage: Sendable {
    /// Ends the restore of a database from a dump: raises the epochs of all partitions, also of those that are made later.
    ///
    /// Sync tokens that servers issued after the dump was made expire, with `WireError/isHistoryLost`: devices send again what the dump
    /// does not have. Older tokens stay valid.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC. One dump may be restored twice, and the time tells the two histories apart.
    /// - Returns: The number of partitions.
    func endRestore(now: Int64) async throws -> Int
}

/// The stored data of an account outside its databases, without secrets.
package struct AccountData: Sendable {
    package var profile: AccountProfile
    /// Milliseconds since 1970 UTC.
    package var created: Int64
    /// Bytes; nil for the server's default, 0 for any number.
    package var quota: Int64?
    /// User record names by container.
    package var userRecordNames: [String: String] = [:]
    /// Roles by container and environment.
    package var roles: [(containerIdentifier: String, environment: String, role: String)] = []
    /// Containers and environments in which the processing of the user's data is paused.
    package var restrictions: [(containerIdentifier: String, environment: String)] = []
    package var partitions: [Partition] = []
    /// Identities at OpenID providers that sign in to the account.
    package var identities: [Identity] = []
    /// When the second factor was turned on, in milliseconds since 1970 UTC; nil without one.
    package var secondFactorSince: Int64?
    /// Lines of the audit log with the account's name, oldest first.
    package var auditEvents: [AuditEvent] = []

    package init(profile: AccountProfile, created: Int64, quota: Int64?) {
        self.profile = profile
        self.created = created
        self.quota = quota
    }
}

/// A record that a scan of a database has found.
package struct ScannedRecord: Sendable {
    /// Place in the order of the scan, for a storage that numbers its rows.
    package var number: Int64
    package var zone: Int64
    package var record: Record

    package init(number: Int64, zone: Int64, record: Record) {
        self.number = number
        self.zone = zone
        self.record = record
    }
}

/// Reads everything that is stored for one person.
package protocol PersonalDataStorage: Sendable {
    /// The account's own data, for a copy that its person gets.
    ///
    /// - Throws: `StorageFailure` with `.unknownName`.
    func accountData(ofUser name: String) async throws -> AccountData

    /// Records of a public database that a user created, a page at a time.
    ///
    /// - Parameter last: The last record of the page before; nil at first.
    /// - Returns: At most 200 records; none at the end.
    func publicRecords(
        createdBy userRecordName: String, in partition: Partition, after last: ScannedRecord?
    ) async throws -> [ScannedRecord]
}

/// One of the server's authentication keys, as listed to an operator.
package struct SealingKeyDescription: Hashable, Sendable {
    package var number: Int
    package var isCurrent: Bool
    /// Milliseconds since 1970 UTC; nil for the first key.
    package var made: Int64?

    package init(number: Int, isCurrent: Bool, made: Int64?) {
        self.number = number
        self.isCurrent = isCurrent
        self.made = made
    }
}

/// Lists, rotates and retires the keys of ``ServerStorage/sealer``.
package protocol SealingKeyStorage: Sendable {
    func sealingKeyDescriptions() async throws -> [SealingKeyDescription]

    /// Makes a new authentication key, with which codes are made from then on; earlier ones stay valid. Other processes use it within a
    /// second.
    ///
    /// - Returns: Its number.
    func rotateSealingKey(now: Int64) async throws -> Int

    /// Ends the codes of an earlier key: change tokens, web tokens, and addresses of assets, couriers and participants.
    ///
    /// - Returns: `false` if the key's bytes may still be in a file of the database, until they are overwritten.
    /// - Throws: `StorageFailure` with `.unknownName` for the current key, and one that does not exist.
    @discardableResult
    func retireSealingKey(_ number: Int) async throws -> Bool
}
