// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The axes of the attack matrix: every request is one choice on each of them.
enum Matrix {
    /// The sender of a request. The data under attack belong to the owner.
    enum Role: Hashable, CaseIterable, Sendable {
        case anonymous
        case owner
        /// Another user, in no share.
        case stranger
        /// An account that may use the console. Over the protocol it has the rights of any other user.
        case `operator`
        /// A program with a server-to-server key.
        case program
        case participant(Permission, Membership)

        static var allCases: [Role] {
            [.anonymous, .owner, .stranger, .operator, .program] + participants
        }

        static var participants: [Role] {
            Permission.allCases.flatMap { permission in
                // A participant that may not see the share has nothing to leave it with.
                Membership.allCases.filter { permission != .none || $0 != .left }.map { .participant(permission, $0) }
            }
        }

        var isUser: Bool { self != .anonymous && self != .program }

        /// The name of the role's account.
        var account: String {
            switch self {
            case .anonymous: "anonymous"
            case .owner: "owner"
            case .stranger: "stranger"
            case .operator: "operator"
            case .program: "program"
            case .participant(let permission, let membership): "\(permission.rawValue)-\(membership.rawValue)"
            }
        }
    }

    enum Permission: String, CaseIterable, Sendable {
        case none, readOnly, readWrite

        var shared: SharePermission {
            switch self {
            case .none: .none
            case .readOnly: .readOnly
            case .readWrite: .readWrite
            }
        }
    }

    /// State of a participant in the owner's shares.
    enum Membership: String, CaseIterable, Sendable {
        case invited, accepted
        /// Accepted, then removed by the owner.
        case removed
        /// Accepted, then ended by the participant.
        case left
    }

    /// A zone of the owner.
    enum ZoneKind: String, CaseIterable, Sendable {
        case defaultZone, unshared
        /// One hierarchy is shared; the zone has another record, which is not.
        case hierarchy
        /// The share is of the whole zone.
        case zoneWide
        /// Was shared, until the owner deleted the share.
        case stopped
        /// The zone is missing.
        case missing

        var hasShare: Bool { self == .hierarchy || self == .zoneWide }
        var name: String { self == .defaultZone ? ZoneID.defaultZoneName : "Zone-\(rawValue)" }
    }

    enum CredentialKind: String, CaseIterable, Sendable {
        case none, deviceToken, apiToken, webSession, serverKey

        /// The kinds that a role has.
        static func of(_ role: Role) -> [CredentialKind] {
            switch role {
            case .anonymous: [.none, .apiToken]
            case .program: [.serverKey]
            case .owner, .stranger, .operator, .participant: [.deviceToken, .webSession]
            }
        }

        /// The states that a kind can be in, besides valid.
        var invalidStates: [CredentialState] {
            switch self {
            case .none: []
            // Device tokens are of an account, and good for any container.
            case .deviceToken: [.expired, .revoked, .malformed]
            case .apiToken: [.revoked, .otherContainer, .otherEnvironment, .malformed]
            case .webSession: [.expired, .revoked, .otherContainer, .otherEnvironment, .malformed]
            // The date of a signature that is too old is an expired credential.
            case .serverKey: [.expired, .revoked, .otherContainer, .otherEnvironment, .malformed]
            }
        }
    }

    enum CredentialState: String, CaseIterable, Sendable {
        case valid, expired, revoked, otherContainer, otherEnvironment, malformed
    }

    struct Sender: Hashable, Sendable, CustomStringConvertible {
        var role: Role
        var kind: CredentialKind
        var state = CredentialState.valid

        var description: String { "\(role.account) \(kind.rawValue) \(state.rawValue)" }
    }

    /// One cell: a request that is sent, and has an expected verdict.
    struct Cell: Hashable, Sendable, CustomStringConvertible {
        var operation: ServicePath.Operation
        var scope: DatabaseScope
        /// The variant of the operation, such as an update or a deletion.
        var probe: Probe
        var zone: ZoneKind
        var sender: Sender

        var description: String { "\(sender): \(scope.rawValue) \(operation.rawValue) \(probe.rawValue) of \(zone.rawValue)" }
    }

    /// A variant of an operation.
    enum Probe: String, CaseIterable, Sendable {
        /// The record that is visible to participants, or the operation's default.
        case read
        /// The record of the zone that is in no share.
        case readHidden
        case update, create, delete
        case updateHidden
        /// Raises the sender's permission in the share.
        case updateShare
        case createZone, deleteZone
        case subscribe
        /// Begins an upload, or takes an asset for another record.
        case asset
    }

    /// Every cell. Where a verdict cannot depend on an axis by the rules, `full` decides whether the axis is varied all the same.
    static func cells(full: Bool) -> [Cell] {
        var cells: [Cell] = []
        for operation in ServicePath.Operation.allCases {
            let row = Row.of(operation)
            for scope in [DatabaseScope.public, .private, .shared] {
                for sender in senders {
                    let zones = variedZones(row, scope, sender, full: full)
                    for zone in zones {
                        for probe in row.probes where probe.exists(in: zone) {
                            cells.append(Cell(operation: operation, scope: scope, probe: probe, zone: zone, sender: sender))
                        }
                    }
                }
            }
        }
        return cells
    }

    /// Each role with each of its kinds of credential in each state.
    static let senders: [Sender] = Role.allCases.flatMap { role in
        CredentialKind.of(role).flatMap { kind -> [Sender] in
            let valid = Sender(role: role, kind: kind)
            // An invalid credential gives no role: the owner's has the most to lose.
            let isTried = role == .owner || role == .anonymous || role == .program
            return [valid] + (isTried ? kind.invalidStates.map { Sender(role: role, kind: kind, state: $0) } : [])
        }
    }

    private static func variedZones(_ row: Row, _ scope: DatabaseScope, _ sender: Sender, full: Bool) -> [ZoneKind] {
        guard row.target != .none else { return [.hierarchy] }
        if full { return ZoneKind.allCases }
        // Refused before the zone is read, whichever it is.
        if sender.state != .valid || !row.isOpen(in: scope, to: sender.role) { return [.hierarchy] }
        // The kind of credential only identifies the sender.
        if sender.kind == .webSession { return [scope == .public ? .defaultZone : .hierarchy] }
        return ZoneKind.allCases
    }
}

extension Matrix.Probe {
    /// A probe of a hidden record or of a share needs a zone that has one.
    func exists(in zone: Matrix.ZoneKind) -> Bool {
        switch self {
        case .readHidden, .updateHidden: zone == .hierarchy
        case .updateShare: zone.hasShare
        default: true
        }
    }
}
