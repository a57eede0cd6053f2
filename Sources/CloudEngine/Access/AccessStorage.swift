// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Reading who may do what. Grants and roles belong to a container and environment, users to a container.
package protocol AccessView {
    /// Grants of a record type; nil if nobody set any.
    func grants(ofType recordType: String) throws -> SecurityGrants?
    /// Custom roles of this container and environment, by name.
    func roles() throws -> [String]
    /// Custom roles of a user.
    func roles(ofUser userRecordName: String) throws -> Set<String>
    /// When the account was made whose user record name in this container this is, in milliseconds since 1970; nil if
    /// there is no such user.
    func userSince(_ userRecordName: String) throws -> Int64?
    /// Bytes that a user's private database may take by the operator's word, 0 for any number; nil if the operator set
    /// nothing for this user.
    func quota(ofUser userRecordName: String) throws -> Int64?
}

/// Changing who may do what.
package protocol AccessWork {
    func setGrants(_ grants: SecurityGrants, ofType recordType: String) throws
    /// A role that is there already stays as it is.
    func addRole(_ role: String) throws
    func removeRole(_ role: String) throws
    func setRoles(_ roles: Set<String>, ofUser userRecordName: String) throws
}
