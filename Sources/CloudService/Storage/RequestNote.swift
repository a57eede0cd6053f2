// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The authenticated sender of a request. An account is a number, so that the log of a removed account has no name.
package enum RequestSender: Hashable, Sendable {
    case anonymous
    case account(Int64)
    case serverKey(String)

    /// `anonymous`, `account 12` or `key ID`.
    package var text: String {
        switch self {
        case .anonymous: "anonymous"
        case .account(let number): "account \(number)"
        case .serverKey(let id): "key \(id)"
        }
    }

    package init?(text: String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        switch (parts.first, parts.count) {
        case ("anonymous", 1): self = .anonymous
        case ("account", 2):
            guard let number = Int64(parts[1]) else { return nil }
            self = .account(number)
        case ("key", 2): self = .serverKey(String(parts[1]))
        default: return nil
        }
    }
}

extension Credentials {
    /// The sender for the console's log.
    var requestSender: RequestSender {
        switch proof {
        case .none: .anonymous
        case .device(let device): .account(device.account)
        case .session(let session, _): .account(session.account)
        case .serverKey(let key): .serverKey(key.id)
        }
    }
}

/// One answered request, without names, tokens and values.
package struct RequestNote: Hashable, Sendable {
    /// Milliseconds since 1970 UTC.
    package var time: Int64
    package var method: String
    package var endpoint: String
    package var status: Int
    package var errorCode: String?
    package var milliseconds: Double
    package var requestUUID: String
    /// The path without its query, for container and database. Kept for paths below `/database/` only: others may have tokens.
    package var path: String
    package var client: ClientKind
    /// Nil for a request that was rejected before its credentials were read.
    package var sender: RequestSender?
    /// ``AccountAccess/id`` of the device token or web session.
    package var access: String?
    /// Bytes of the body that the server read.
    package var bytesReceived: Int?
    /// Bytes of the response's body before compression; nil for a stream.
    package var bytesSent: Int?

    package init(
        time: Int64, method: String, endpoint: String, status: Int, errorCode: String?, milliseconds: Double,
        requestUUID: String, path: String = "", client: ClientKind = .other, sender: RequestSender? = nil, access: String? = nil,
        bytesReceived: Int? = nil, bytesSent: Int? = nil
    ) {
        self.client = client
        self.path = path.hasPrefix("/database/") ? path : ""
        self.time = time
        self.method = method
        self.endpoint = endpoint
        self.status = status
        self.errorCode = errorCode
        self.milliseconds = milliseconds
        self.requestUUID = requestUUID
        self.sender = sender
        self.access = access
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
    }
}

// MARK: Container and database

extension RequestNote {
    /// The container of the request's path; nil for other paths.
    package var container: String? {
        guard path.hasPrefix("/database/") else { return nil }
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 3)
        guard parts.count > 2, let container = String(parts[2]), PathSegments.isContainerIdentifier(container) else { return nil }
        return container
    }

    /// The environment of the request's path, if it has a container.
    package var environment: CloudEnvironment? { container == nil ? nil : segment(3).flatMap { CloudEnvironment(rawValue: $0) } }

    /// The database of the request's path; nil also for an operation of devices.
    package var scope: DatabaseScope? { container == nil ? nil : segment(4).flatMap { DatabaseScope(rawValue: $0) } }

    private func segment(_ index: Int) -> String? {
        let parts = path.split(separator: "/", maxSplits: 6)
        return index < parts.count ? String(parts[index]) : nil
    }

    /// The container, environment and database of the request's path; nil for other paths.
    package var place: String? {
        container.map { [$0, environment?.rawValue, scope?.rawValue].compactMap { $0 }.joined(separator: " ") }
    }
}

/// Conditions on the requests of a list. Nil accepts all.
package struct RequestFilter: Hashable, Sendable {
    /// Text that a request's method, endpoint, status, error, path or UUID contains, in any case; empty for all.
    package var text: String
    package var container: String?
    package var endpoint: String?
    /// The first digit of the status.
    package var statusClass: Int?
    package var sender: RequestSender?

    package init(
        text: String = "", container: String? = nil, endpoint: String? = nil, statusClass: Int? = nil, sender: RequestSender? = nil
    ) {
        self.text = text.lowercased()
        self.container = container
        self.endpoint = endpoint
        self.statusClass = statusClass
        self.sender = sender
    }

    package func accepts(_ note: RequestNote) -> Bool {
        if let container, note.container != container { return false }
        if let endpoint, note.endpoint != endpoint { return false }
        if let statusClass, note.status / 100 != statusClass { return false }
        if let sender, note.sender != sender { return false }
        let texts = [note.method, note.endpoint, String(note.status), note.errorCode ?? "", note.path, note.requestUUID]
        return text.isEmpty || texts.contains { $0.lowercased().contains(text) }
    }
}
