// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The authenticated sender of a request.
struct Credentials: Sendable {
    enum Proof: Sendable {
        case none
        case device(DeviceIdentity)
        case session(WebSession, id: [UInt8])
        case serverKey(ServerKey)
    }

    /// Reference of the proof; nil for an anonymous request.
    func reference(hash: ([UInt8]) -> [UInt8]) -> CredentialReference? {
        switch proof {
        case .none: nil
        case .device(let device): device.credential
        case .session(_, let id): .session(idHash: hash(id))
        case .serverKey(let key): .serverKey(id: key.id)
        }
    }

    var proof: Proof = .none
    var apiToken: APIToken?
    /// To be sent along with the answer.
    var nextWebToken: String?
    /// Whether the same signed request wrote before: it may have its answer once more, and nothing else.
    var isRepeated = false

    /// The account of a person.
    var account: Int64? {
        switch proof {
        case .device(let device): device.account
        case .session(let session, _): session.account
        case .none, .serverKey: nil
        }
    }

    static func isExpired(_ expires: Int64?, at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }

    /// Rate limit that a request counts for: of the account or the key, with any container; of the network of an anonymous client.
    func sender(from network: String) -> RequestBudgets.Sender {
        switch proof {
        case .device(let device): .account("\(WorkTerms.accountPrefix)\(device.account)")
        case .session(let session, _): .account("\(WorkTerms.accountPrefix)\(session.account)")
        case .serverKey(let key): .account("key \(key.id)")
        case .none: .network(network)
        }
    }

    /// Key of scheduling.
    func requester(from network: String) -> String {
        switch sender(from: network) {
        case .account(let key): key
        case .network(let network): "network \(network)"
        }
    }
}

/// The result of a repeated signed request, whether its signer retries or an attacker replays it.
package enum Repetition {
    case refused
    /// It changes nothing.
    case harmless
    /// The answer to its idempotency key was kept, and is given once more.
    case answeredAsBefore
}
