// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport

/// Names a credential without being one. Push streams, courier addresses and web sessions that were made with a credential
/// carry its reference and end with it.
package enum CredentialReference: Hashable, Sendable {
    /// - Parameter deviceID: The identifier that the token was given, not the name that a request may choose.
    case device(account: Int64, deviceID: String)
    /// - Parameter idHash: SHA-256 of the session's identifier.
    case session(idHash: [UInt8])
    case serverKey(id: String)

    /// ``AccountAccess/id`` of the device token or web session; nil for a key.
    package var accessID: String? {
        switch self {
        case .device(_, let deviceID): deviceID
        case .session(let idHash): Hex.text(idHash.prefix(AccountAccess.sessionIDBytes))
        case .serverKey: nil
        }
    }

    /// One word, for authenticated texts.
    var text: String {
        switch self {
        case .device(let account, let deviceID): "d\(account).\(deviceID)"
        case .session(let idHash): "s" + Hex.text(idHash)
        case .serverKey(let id): "k" + id
        }
    }

    init?(text: Substring) {
        let value = text.dropFirst()
        switch text.first {
        case "d":
            let parts = value.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let account = Int64(parts[0]) else { return nil }
            self = .device(account: account, deviceID: String(parts[1]))
        case "s":
            guard let hash = Hex.bytes(value) else { return nil }
            self = .session(idHash: hash)
        case "k": self = .serverKey(id: String(value))
        default: return nil
        }
    }
}

/// The last use of a credential.
package struct CredentialUse: Hashable, Sendable {
    /// Milliseconds since 1970 UTC.
    package var time: Int64
    /// The client's address, or the first half of an IPv6 address; empty if unknown.
    package var network: String
    /// The client's `User-Agent`, in printable ASCII; empty if it sent none.
    package var platform: String

    package init(time: Int64, network: String, platform: String) {
        self.time = time
        self.network = network
        self.platform = platform
    }

    static let platformBytesMax = 120

    init(of request: ServiceRequest, time: Int64) {
        let agent = (request.header("user-agent") ?? "").utf8.prefix(Self.platformBytesMax).filter { (0x20...0x7E).contains($0) }
        self.init(time: time, network: request.network, platform: String(decoding: agent, as: UTF8.self))
    }
}
