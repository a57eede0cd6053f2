// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The caller's permissions on records of the public database in one request, by type and creator.
///
/// In the private database the owner may do everything; requests to it come from the owner only.
package struct RecordAccess {
    /// Which records of a type the caller may read.
    package enum Reading: Hashable, Sendable {
        case all
        /// Those that this user created.
        case own(String)
        case none
    }

    private let view: any PartitionReader
    private let call: Call
    private var grants: [String: SecurityGrants] = [:]
    private var roles: Set<String>?

    package init(_ view: any PartitionReader, _ call: Call) {
        self.view = view
        self.call = call
    }

    /// - Parameter creator: User record name of the record's creator; for a record to be created, nil.
    package mutating func allows(
        _ permission: RolePermissions, recordType: String, creator: String?
    ) throws -> Bool {
        guard call.partition.scope == .public, !call.caller.isOperator else { return true }
        let isCreator = call.caller.isSignedIn && creator == call.caller.userRecordName
        return try grants(ofType: recordType)
            .permissions(isSignedIn: call.caller.isSignedIn, roles: try callersRoles(), isCreator: isCreator)
            .contains(permission)
    }

    package mutating func allows(_ permission: RolePermissions, _ record: Record) throws -> Bool {
        try allows(permission, recordType: record.recordType, creator: record.created?.userRecordName)
    }

    package mutating func reading(ofType recordType: String) throws -> Reading {
        if try allows(.read, recordType: recordType, creator: nil) { return .all }
        guard call.caller.isSignedIn else { return .none }
        let name = call.caller.userRecordName
        return try allows(.read, recordType: recordType, creator: name) ? .own(name) : .none
    }

    /// The caller's permissions on records of each type of the schema.
    package mutating func permissions() throws -> [TypePermissions] {
        let name = call.caller.userRecordName
        return try view.recordTypes().map { recordType in
            let writing: TypePermissions.Writing =
                if try allows(.write, recordType: recordType, creator: nil) {
                    .all
                } else {
                    try allows(.write, recordType: recordType, creator: name) ? .own : .none
                }
            return TypePermissions(
                recordType: recordType, mayCreate: try allows(.create, recordType: recordType, creator: nil), writing: writing)
        }
    }

    /// What change tokens of the public database are sealed for: they expire when the caller may read more, or less, than
    /// before. Types that the caller may read whole do not count, so that a new one expires no token.
    mutating func feed(_ partition: Partition) throws -> Partition {
        var rights = ""
        for recordType in try view.recordTypes() {
            switch try reading(ofType: recordType) {
            case .all: continue
            case .own(let name): rights += " \(recordType)=\(name)"
            case .none: rights += " \(recordType)"
            }
        }
        var feed = partition
        feed.owner += rights
        return feed
    }

    /// The error of a rejected caller: an anonymous client may retry with a user.
    package var refusal: WireError {
        guard call.caller.isSignedIn else { return WireError(.authenticationRequired, "request needs authorization") }
        return WireError(.accessDenied, "the caller's roles do not allow this")
    }

    /// Rejects an operation before an error reveals anything about the stored record.
    mutating func check(_ operation: RecordOperation, over current: Record?) throws {
        guard call.partition.scope == .public else { return }
        let isAllowed =
            switch (operation.kind, current) {
            case (.create, let current):
                try allows(.create, recordType: current?.recordType ?? operation.record.recordType, creator: nil)
            case (_, .some(let current)):
                try allows(.write, current)
            case (.forceUpdate, nil), (.forceReplace, nil):
                try allows(.create, recordType: operation.record.recordType, creator: nil)
            case (.update, nil), (.replace, nil), (.delete, nil), (.forceDelete, nil):
                call.caller.isSignedIn || call.caller.isOperator
            }
        guard isAllowed else { throw refusal }
        try UsersType.check(operation, over: current, call)
    }

    private mutating func grants(ofType recordType: String) throws -> SecurityGrants {
        if let known = grants[recordType] { return known }
        let found = try view.grants(ofType: recordType) ?? .standard(ofType: recordType)
        grants[recordType] = found
        return found
    }

    private mutating func callersRoles() throws -> Set<String> {
        guard call.caller.isSignedIn else { return [] }
        if let roles { return roles }
        let found = try view.roles(ofUser: call.caller.userRecordName)
        roles = found
        return found
    }
}
