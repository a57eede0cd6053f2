// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Path of an operation below the server's root: `/database/1/{container}/{environment}/{database}/{operation}`.
///
/// Source: *CloudKit Web Services Reference*, "Composing Web Service Requests".
package struct ServicePath: Hashable, Sendable {
    package enum Operation: String, Hashable, Sendable, CaseIterable {
        case modifyRecords = "records/modify"
        case queryRecords = "records/query"
        case lookupRecords = "records/lookup"
        case uploadAssets = "assets/upload"
        case rereferenceAssets = "assets/rereference"
        /// The older form of ``zoneChanges``.
        case recordChanges = "records/changes"
        /// The older form of ``databaseChanges``.
        case changedZones = "zones/changes"
        case listZones = "zones/list"
        case lookupZones = "zones/lookup"
        case modifyZones = "zones/modify"
        case databaseChanges = "changes/database"
        case zoneChanges = "changes/zone"
        /// Tarn's addition. GET: bytes of a snapshot that ``zoneChanges`` offered; see ``SnapshotOffer``.
        case zoneSnapshot = "changes/snapshot"
        case listSubscriptions = "subscriptions/list"
        case lookupSubscriptions = "subscriptions/lookup"
        case modifySubscriptions = "subscriptions/modify"
        case resolveRecords = "records/resolve"
        case acceptRecords = "records/accept"
        /// Tarn's addition: requests access to shares from their owners.
        case requestAccess = "records/requestAccess"
        case caller = "users/caller"
        case currentUser = "users/current"
        /// POST with lookup information; GET for the users in the caller's address book.
        case discoverUsers = "users/discover"
        case lookupUsersByEmail = "users/lookup/email"
        case lookupUsersByID = "users/lookup/id"
        case lookupUsersByContacts = "users/lookup/contacts"
        /// POST: pauses the processing of the caller's data until ``unrestrictUser``.
        case restrictUser = "users/restrict"
        case unrestrictUser = "users/unrestrict"

        /// The HTTP method of the operation.
        package var method: String {
            switch self {
            case .listZones, .listSubscriptions, .caller, .currentUser, .zoneSnapshot: "GET"
            case .rereferenceAssets, .recordChanges, .changedZones, .modifyRecords, .queryRecords, .lookupRecords, .uploadAssets,
                .lookupZones, .modifyZones, .databaseChanges,
                .zoneChanges, .lookupSubscriptions, .modifySubscriptions, .resolveRecords, .acceptRecords, .requestAccess,
                .discoverUsers,
                .lookupUsersByEmail, .lookupUsersByID, .lookupUsersByContacts, .restrictUser, .unrestrictUser:
                "POST"
            }
        }

        /// `false` for operations that only read. One that may change anything, for the caller or another user, changes data.
        package var changesData: Bool {
            switch self {
            case .queryRecords, .lookupRecords, .recordChanges, .changedZones, .listZones, .lookupZones, .databaseChanges, .zoneChanges,
                .zoneSnapshot, .listSubscriptions, .lookupSubscriptions, .caller, .currentUser, .discoverUsers, .lookupUsersByEmail,
                .lookupUsersByID, .lookupUsersByContacts:
                false
            case .modifyRecords, .uploadAssets, .rereferenceAssets, .modifyZones, .modifySubscriptions, .resolveRecords, .acceptRecords,
                .requestAccess, .restrictUser, .unrestrictUser:
                true
            }
        }
    }

    package var containerIdentifier: String
    package var environment: CloudEnvironment
    package var scope: DatabaseScope
    package var operation: Operation

    package init(
        containerIdentifier: String, environment: CloudEnvironment, scope: DatabaseScope, operation: Operation
    ) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.scope = scope
        self.operation = operation
    }

    /// Parses a path without its query. A trailing slash is rejected.
    ///
    /// - Throws: `WireError` with `.notFound` for an unknown path, and `.badRequest` for an invalid container,
    ///   environment or database.
    package init(parsing path: String) throws(WireError) {
        let parts = PathSegments.split(path)
        guard parts.count == 8 || parts.count == 9, parts[0].isEmpty, parts[1] == "database", parts[2] == "1" else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        containerIdentifier = try PathSegments.container(parts[3])
        environment = try PathSegments.environment(parts[4])
        guard let scope = DatabaseScope(rawValue: String(parts[5])) else {
            throw WireError(.badRequest, "the database in the path is not public, private or shared")
        }
        self.scope = scope
        guard let operation = Operation(rawValue: String(path[parts[6].startIndex...])) else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        self.operation = operation
    }

    package var path: String {
        "/database/1/\(containerIdentifier)/\(environment.rawValue)/\(scope.rawValue)/\(operation.rawValue)"
    }
}

/// Path of a device's operation without a database: `/device/1/{container}/{environment}/{operation}`.
package struct DevicePath: Hashable, Sendable {
    package enum Operation: String, Hashable, Sendable, CaseIterable {
        /// GET, a long-lived response; see ``Capability/pushStream``.
        case pushStream = "push/stream"
        /// POST: creates a push token; see ``CreateTokenRequest``. Also below `/database/1/{container}/{environment}/`.
        case createToken = "tokens/create"
        /// POST: registers a push token.
        case registerToken = "tokens/register"
        /// POST: creates a web auth token for a device token, from an API token.
        case webAuthToken = "tokens/webAuth"

        /// The HTTP method of the operation.
        package var method: String {
            switch self {
            case .pushStream: "GET"
            case .createToken, .registerToken, .webAuthToken: "POST"
            }
        }
    }

    package var containerIdentifier: String
    package var environment: CloudEnvironment
    package var operation: Operation

    package init(containerIdentifier: String, environment: CloudEnvironment, operation: Operation) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.operation = operation
    }

    private static let tokenSuffixes = [Operation.createToken, .registerToken].map { "/" + $0.rawValue }

    /// Whether a path is that of a device, valid or not.
    package static func isOne(_ path: String) -> Bool {
        if path.hasPrefix("/device/") { return true }
        guard tokenSuffixes.contains(where: path.hasSuffix) else { return false }
        return (try? DevicePath(parsing: path)) != nil
    }

    /// Parses a path without its query; errors as in ``ServicePath/init(parsing:)``.
    package init(parsing path: String) throws(WireError) {
        let parts = PathSegments.split(path)
        guard parts.count == 7, parts[0].isEmpty, parts[1] == "device" || parts[1] == "database", parts[2] == "1",
            let operation = Operation(rawValue: "\(parts[5])/\(parts[6])"),
            // Source: the documents have the tokens below `database`; the live service has them below `device`.
            parts[1] == "device" || operation == .createToken || operation == .registerToken
        else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        containerIdentifier = try PathSegments.container(parts[3])
        environment = try PathSegments.environment(parts[4])
        self.operation = operation
    }

    package var path: String { "/device/1/\(containerIdentifier)/\(environment.rawValue)/\(operation.rawValue)" }
}

/// The segments that both kinds of path share.
package enum PathSegments {
    static let containerCharacters = 255

    static func split(_ path: String) -> [Substring] {
        var parts: [Substring] = []
        parts.reserveCapacity(9)
        let bytes = path.utf8
        var start = bytes.startIndex, index = start
        while index < bytes.endIndex {
            let next = bytes.index(after: index)
            if bytes[index] == UInt8(ascii: "/") {
                parts.append(path[start..<index])
                start = next
            }
            index = next
        }
        parts.append(path[start...])
        return parts
    }

    /// Whether a text is a valid container identifier: ASCII letters, digits, `.`, `-` and `_`, so that it needs no
    /// encoding in a path and no quoting in a file name.
    package static func isContainerIdentifier(_ text: String) -> Bool { isContainerIdentifier(text[...]) }

    package static func isContainerIdentifier(_ text: Substring) -> Bool {
        let bytes = text.utf8
        guard !bytes.isEmpty, bytes.count <= containerCharacters, bytes.first != UInt8(ascii: ".") else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    static func container(_ segment: Substring) throws(WireError) -> String {
        guard isContainerIdentifier(segment) else {
            throw WireError(.badRequest, "the path has no container identifier, such as iCloud.org.example.notes")
        }
        return String(segment)
    }

    static func environment(_ segment: Substring) throws(WireError) -> CloudEnvironment {
        guard let environment = CloudEnvironment(rawValue: String(segment)) else {
            throw WireError(.badRequest, "the environment in the path is neither development nor production")
        }
        return environment
    }
}
