// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Foundation

extension Matrix {
    /// The expected outcome of a cell.
    struct Verdict: Hashable, Sendable {
        /// `OK`, or the wire code of the response or of its item.
        var code: String
        /// Whether a change counter moves, or a subscription is stored.
        var changes = false
        /// Places with values that the response may contain.
        var discloses: Set<String> = []

        static let ok = Verdict(code: "OK")
        static let changed = Verdict(code: "OK", changes: true)
        static func discloses(_ places: String...) -> Verdict { Verdict(code: "OK", discloses: Set(places)) }
        static func refused(_ code: WireError.Code) -> Verdict { Verdict(code: code.rawValue) }
    }

    /// Permissions of a role in the owner's zone through the shared database.
    enum Access: Sendable { case none, read, write }

    static func sharedAccess(_ role: Role, _ zone: ZoneKind) -> Access {
        guard zone.hasShare, case .participant(let permission, .accepted) = role else { return .none }
        switch permission {
        case .none: return .none
        case .readOnly: return .read
        case .readWrite: return .write
        }
    }

    static func expected(_ cell: Cell) -> Verdict {
        if let refusal = refusal(of: cell.sender) { return refusal }
        let row = Row.of(cell.operation), role = cell.sender.role
        guard row.isOpen(in: cell.scope, to: role) else { return refusal(of: role, row.callers(in: cell.scope)) }
        switch row.target {
        case .none: return untargeted(cell)
        case .link: return link(cell)
        case .zone:
            switch cell.scope {
            case .public: return publicZone(cell)
            case .private: return privateZone(cell)
            case .shared: return sharedZone(cell)
            }
        }
    }

    /// Every operation refuses an invalid credential. Only expired sessions ask to sign in again.
    static func refusal(of sender: Sender) -> Verdict? {
        switch (sender.kind, sender.state) {
        case (_, .valid): nil
        case (.webSession, .expired), (.webSession, .revoked): .refused(.authenticationRequired)
        default: .refused(.authenticationFailed)
        }
    }

    private static func refusal(of role: Role, _ callers: Callers) -> Verdict {
        if case .absent = callers { return .refused(.badRequest) }
        return .refused(role == .anonymous ? .authenticationRequired : .authenticationFailed)
    }

    /// Operations about the caller: each caller that may request them succeeds, and learns of no other user.
    private static func untargeted(_ cell: Cell) -> Verdict {
        guard cell.operation == .lookupSubscriptions else { return .ok }
        return cell.scope == .private && cell.sender.role == .owner ? .ok : .refused(.notFound)
    }

    private static func link(_ cell: Cell) -> Verdict {
        guard cell.zone.hasShare else { return .refused(.notFound) }
        // The root of a hierarchy is shown to those that may read it, before they accept.
        let root: Set = cell.zone == .hierarchy ? [cell.zone.rawValue] : []
        let isInvited: Bool, maySeeRoot: Bool
        switch cell.sender.role {
        case .owner: (isInvited, maySeeRoot) = (false, true)
        case .participant(let permission, let membership) where membership == .invited || membership == .accepted:
            (isInvited, maySeeRoot) = (membership == .invited, permission != .none)
        default: return .refused(.accessDenied)
        }
        // The owner takes no requests, and participants need none.
        if cell.operation == .requestAccess { return .refused(.badRequest) }
        return Verdict(code: "OK", changes: isInvited && cell.operation == .acceptRecords, discloses: maySeeRoot ? root : [])
    }

    private static func publicZone(_ cell: Cell) -> Verdict {
        // A query of any zone can be subscribed to. It is of the caller's own, and fires for records that the caller may read.
        if cell.operation == .modifySubscriptions { return .changed }
        guard cell.zone == .defaultZone else { return .refused(.zoneNotFound) }
        let role = cell.sender.role
        let others: Verdict = .refused(role == .anonymous ? .authenticationRequired : .accessDenied)
        switch cell.operation {
        case .lookupZones, .uploadAssets: return .ok
        case .modifyRecords: return cell.probe == .create || role == .owner ? .changed : others
        case .rereferenceAssets: return role == .owner ? .ok : others
        // Others find the records of the type that they created themselves: none.
        case .queryRecords where role != .owner && role != .anonymous: return .ok
        default: return role == .owner ? .discloses("public") : others
        }
    }

    private static func privateZone(_ cell: Cell) -> Verdict {
        // Kept in the caller's own database, where no zone of another user is.
        if cell.operation == .modifySubscriptions { return .changed }
        if cell.operation == .zoneSnapshot { return snapshot(cell) }
        if cell.zone == .defaultZone, cell.operation.isChangeFeed { return .refused(.badRequest) }
        guard cell.sender.role == .owner else { return .refused(.zoneNotFound) }
        switch cell.probe {
        case .createZone: return cell.zone == .missing ? .changed : .ok
        case .deleteZone where cell.zone == .defaultZone: return .refused(.badRequest)
        default: break
        }
        guard cell.zone != .missing else { return .refused(.zoneNotFound) }
        switch cell.probe {
        case .update, .create, .delete, .updateHidden, .updateShare, .deleteZone: return .changed
        case .readHidden: return .discloses("hidden")
        case .read: return readable(cell, isOwner: true)
        case .createZone, .subscribe, .asset: return .ok
        }
    }

    /// The owner reads the snapshot of a zone without shares. To all others it is as if it were absent.
    private static func snapshot(_ cell: Cell) -> Verdict {
        switch cell.zone {
        case .defaultZone, .missing: return .refused(.notFound)
        case _ where cell.zone.hasShare || cell.sender.role != .owner: return .refused(.notFound)
        default: return .discloses(cell.zone.rawValue)
        }
    }

    private static func sharedZone(_ cell: Cell) -> Verdict {
        // The shared database has subscriptions to the whole database only.
        if cell.operation == .modifySubscriptions { return .refused(.badRequest) }
        // The owner's own zones are not in the owner's shared database.
        if cell.sender.role != .owner, cell.zone == .defaultZone, cell.operation.isChangeFeed { return .refused(.badRequest) }
        let access = sharedAccess(cell.sender.role, cell.zone)
        guard access != .none else { return .refused(.zoneNotFound) }
        switch cell.probe {
        case .read: return readable(cell, isOwner: false)
        // Records outside of the share are as if they were absent: a forced update would create one there.
        case .readHidden: return .refused(.notFound)
        case .updateHidden: return .refused(.accessDenied)
        case .update, .create, .delete: return access == .write ? .changed : .refused(.accessDenied)
        case .updateShare: return .refused(.accessDenied)
        // Another record of the same participant may take an asset that the participant reads.
        case .asset: return access == .write || cell.operation == .rereferenceAssets ? .ok : .refused(.accessDenied)
        case .createZone, .deleteZone, .subscribe: return .refused(.badRequest)
        }
    }

    private static func readable(_ cell: Cell, isOwner: Bool) -> Verdict {
        guard cell.operation != .lookupZones else { return .ok }
        let readsAll = cell.operation != .lookupRecords
        let hidden: Set = isOwner && readsAll && cell.zone == .hierarchy ? ["hidden"] : []
        return Verdict(code: "OK", discloses: hidden.union([cell.zone.rawValue]))
    }

    /// The expected code of an operation without a database.
    static func expected(_ operation: DevicePath.Operation, _ sender: Sender) -> String {
        // These operations take no signatures, so that a program is anonymous here.
        if sender.role == .program { return WireError.Code.authenticationRequired.rawValue }
        if let refusal = refusal(of: sender) { return refusal.code }
        guard sender.role.isUser else { return WireError.Code.authenticationRequired.rawValue }
        switch operation {
        case .pushStream, .createToken, .registerToken: return "OK"
        // A session makes no other session.
        case .webAuthToken: return sender.kind == .deviceToken ? "OK" : WireError.Code.accessDenied.rawValue
        }
    }
}

extension ServicePath.Operation {
    fileprivate var isChangeFeed: Bool { self == .zoneChanges || self == .recordChanges }
}

/// Executes cells, and compares each with its verdict.
struct MatrixRun: Sendable {
    let world: MatrixWorld

    static let places = Matrix.ZoneKind.allCases.map(\.rawValue) + ["public", "hidden"]

    /// - Returns: What differs from the verdict; nil for a cell that holds.
    func complaint(about cell: Matrix.Cell) async throws -> String? {
        let verdict = Matrix.expected(cell)
        let answer = try await world.send(cell)
        let changed = world.storage.takeChanged()
        let isPaused = try await world.resumeProcessing(of: cell.sender.role == .anonymous ? .owner : cell.sender.role)
        guard answer.code == verdict.code else { return "\(cell): \(answer.code) instead of \(verdict.code)" }
        if isPaused != (verdict.code == "OK" && cell.operation == .restrictUser) { return "\(cell): paused the data of a user" }
        if changed.isEmpty == verdict.changes { return "\(cell): changed \(changed.map(\.scope.rawValue).sorted())" }
        // Only the user accesses the user's private database.
        let isOwn = cell.operation == .modifySubscriptions || cell.scope == .private
        let ownName = world.names[cell.sender.role]
        if isOwn, cell.sender.role.isUser, cell.sender.role != .owner, changed.contains(where: { $0.owner != ownName }) {
            return "\(cell): changed a partition of another user"
        }
        // Permitted records must be in the response: an empty one would pass all other cells.
        let shown = Set(Self.places.filter { answer.shows(MatrixWorld.secret($0)) })
        guard shown == verdict.discloses else {
            return "\(cell): shows the values of \(shown.sorted()), not of \(verdict.discloses.sorted())"
        }
        let isOwner = cell.sender.role == .owner
        if !isOwner, !cell.namesTheOwner, answer.shows(MatrixWorld.ownerAddress) { return "\(cell): discloses the owner's address" }
        let sees = Matrix.sharedAccess(cell.sender.role, cell.zone) != .none
        if !isOwner, !sees, Matrix.Row.of(cell.operation).target != .link,
            world.links.values.contains(where: { answer.shows($0) })
        {
            return "\(cell): discloses the link of a share"
        }
        return nil
    }
}

extension Matrix.Cell {
    /// Whether the request itself has the owner's address.
    fileprivate var namesTheOwner: Bool { operation == .discoverUsers || operation == .lookupUsersByEmail }
}
