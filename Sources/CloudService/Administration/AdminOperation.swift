// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire
import SystemSupport

/// An administrative operation on accounts, schemas, credentials or zones.
///
/// Commands on a data folder and requests with an operator's key run the same operations:
///
/// ```
/// tarn user list                 operation ─────────────────────────────► AdminContext in the command's process
/// tarn user list --server URL    operation ── POST /console/api/operator/user.list ──► AdminContext of the server
/// ```
///
/// Passwords, operator flags, second factors, tokens for other people's devices and new keys are not among them: a leaked key must not
/// give access that lasts longer than the key. ``checkKey(of:in:)`` refuses such uses of the others.
package protocol AdminOperation: FlatMessage {
    associatedtype Response: FlatMessage

    /// The name in the audit log and in requests, such as `user.add`.
    static var name: String { get }
    /// The subject in the audit log.
    var subject: String { get }
    /// The account that the operation is about, for errors.
    var user: String? { get }

    /// Refuses an operation that a key does not permit. It is called before the operation and its event in the audit log, for requests with
    /// a key only, and changes nothing.
    ///
    /// - Parameter owner: The account of the key.
    /// - Throws: `WireError` with `.accessDenied`; errors of ``perform(in:)``.
    func checkKey(of owner: String, in context: AdminContext) async throws

    /// - Throws: `WireError` for an invalid operation, with a reason that is a sentence; `StorageFailure`, `SchemaRefused`, `UnknownContainer`.
    func perform(in context: AdminContext) async throws -> Response
}

/// An operation on one container, without further members.
protocol ContainerOperation: AdminOperation {
    var container: String { get }
    init(container: String)
}

extension ContainerOperation {
    package init(_ object: FlatObject) throws(WireError) { self.init(container: try object.text("container")) }
    package var object: FlatObject { ["container": .text(container)] }
    package var subject: String { container }
}

extension AdminOperation {
    package var user: String? { nil }
    package func checkKey(of owner: String, in context: AdminContext) async throws {}
}

/// The operations that a server performs for requests.
package enum AdminOperations {
    package static let all: [any AdminOperation.Type] = [
        ListUsers.self, AddUser.self, RemoveUser.self, ListAccesses.self, RevokeDevice.self, EndSessions.self, SetQuota.self,
        ExportSchema.self, ValidateSchema.self, ImportSchema.self, CompareSchemas.self, DeploySchema.self,
        ListCredentials.self, AddToken.self, RemoveToken.self, ListZones.self, CreateZone.self,
    ]

    package static func named(_ name: String) -> (any AdminOperation.Type)? { all.first { $0.name == name } }

    /// The error of an operation for an operator on another machine.
    ///
    /// - Parameter user: The account that the operation is about.
    package static func wireError(of error: any Error, user: String?) -> WireError {
        switch error {
        case let error as WireError: return error
        case let refused as SchemaRefused: return WireError(.conflict, refused.reasons.joined(separator: "\n"))
        case let unknown as UnknownContainer:
            let list = unknown.names.isEmpty ? "It has none." : "It has \(unknown.names.prefix(10).joined(separator: ", "))."
            return WireError(
                .notFound,
                "The server has no container \(unknown.name). \(list)\(Suggestion.sentence(for: unknown.name, among: unknown.names))")
        case let failure as StorageFailure where failure == .unknownUser:
            return WireError(.notFound, "The user \(user ?? "") does not exist: 'tarn user list' lists all users.")
        case let failure as StorageFailure where failure.code == .nameTaken:
            return WireError(.exists, "A user named \(user ?? "") exists: choose another name.")
        case let failure as StorageFailure where failure.code == .unknownName:
            return WireError(.notFound, user.map { "\($0): \(failure.what)." } ?? failure.what)
        case let failure as StorageFailure: return ErrorResponses.wireError(for: failure)
        default: return WireError(.internalError, "the request could not be carried out")
        }
    }
}

/// The service and the storage that administrative operations work on.
package struct AdminContext: Sendable {
    package let service: CloudService
    package let storage: any AdministrationStorage
    /// Removals that go on between requests; nil performs a removal to its end.
    let removals: AccountRemovals?

    /// - Parameter removals: For an operator on another machine, whose requests have to be short; nil for a command on the data.
    package init(service: CloudService, storage: any AdministrationStorage, removals: AccountRemovals? = nil) {
        self.service = service
        self.storage = storage
        self.removals = removals
    }

    /// Refuses an operation on an operator's account: with one key, an attacker could lock out the operators that would end it.
    ///
    /// - Parameters:
    ///   - owner: The account of the key, if it may do this to itself.
    ///   - step: The way that remains.
    /// - Throws: `WireError` with `.accessDenied`.
    func refuse(ifOperator name: String, except owner: String? = nil, step: String) async throws {
        guard name != owner, let account = try await storage.account(named: name),
            try await service.directory.profile(ofAccount: account)?.isOperator == true
        else { return }
        throw WireError(.accessDenied, "The account \(name) is an operator's: \(step)")
    }

    /// - Throws: `UnknownContainer`.
    func checkContainer(_ name: String) async throws {
        let names = try await storage.containers()
        guard names.contains(name) else { throw UnknownContainer(name: name, names: names) }
    }

    /// - Throws: `WireError` with `.badRequest` for an invalid identifier.
    static func checkIdentifier(ofContainer name: String) throws(WireError) {
        guard PathSegments.isContainerIdentifier(name) else {
            throw WireError(.badRequest, "A container identifier has letters, digits and the signs . - _")
        }
    }
}

/// An operation names a container that does not exist.
package struct UnknownContainer: Error, Hashable {
    package var name: String
    /// Existing containers.
    package var names: [String]

    package init(name: String, names: [String]) {
        self.name = name
        self.names = names
    }
}

/// The response of an operation without data.
package struct EmptyResponse: FlatMessage {
    package init() {}
    package init(_ object: FlatObject) throws(WireError) {}
    package var object: FlatObject { [:] }
}

/// A new secret, which the server does not show again.
package struct NewSecret: FlatMessage {
    package var secret: String

    package init(_ secret: String) { self.secret = secret }
    package init(_ object: FlatObject) throws(WireError) { secret = try object.text("secret") }
    package var object: FlatObject { ["secret": .text(secret)] }
}
