// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService

/// Names of the senders and devices of requests, each looked up once for a page.
struct SenderNames {
    let console: Console
    private var accounts: [Int64: String] = [:]
    /// By account and ``AccountAccess/id``.
    private var labels: [Int64: [String: String]] = [:]

    init(_ console: Console) { self.console = console }

    /// The account's name, `anonymous` or `key ID`; empty for a request without read credentials.
    mutating func user(of note: RequestNote) async throws -> String {
        switch note.sender {
        case .account(let number)?: try await name(of: number) ?? "removed account \(number)"
        case .anonymous?, .serverKey?: note.sender?.text ?? ""
        case nil: ""
        }
    }

    /// The label of a device, or the place of a session; an identifier without a label.
    mutating func device(of note: RequestNote) async throws -> String {
        guard case .account(let number)? = note.sender, let access = note.access else { return "" }
        if labels[number] == nil {
            labels[number] = [:]
            if let name = try await name(of: number) { labels[number] = try await Self.labels(ofUser: name, console.storage) }
        }
        return labels[number]?[access] ?? access
    }

    /// The sender of a name as it is shown; nil if no account has it.
    static func sender(named name: String, _ storage: any AdministrationStorage) async throws -> RequestSender? {
        if let account = try await storage.account(named: name) { return .account(account) }
        // A number is shown only for an account that no longer exists.
        guard let sender = RequestSender(text: name) else { return nil }
        if case .account = sender { return nil }
        return sender
    }

    private mutating func name(of account: Int64) async throws -> String? {
        if let name = accounts[account] { return name }
        let name = try await console.service.directory.profile(ofAccount: account)?.accountName
        accounts[account] = name
        return name
    }

    /// Labels of an account's devices and sessions by ``AccountAccess/id``; none for an account that is being removed.
    static func labels(ofUser name: String, _ storage: any AdministrationStorage) async throws -> [String: String] {
        var labels: [String: String] = [:]
        do {
            for access in try await storage.accesses(ofUser: name) {
                switch access.kind {
                case .device(let label, _): labels[access.id] = label
                case .session(let use, _): labels[access.id] = "session: \(use.summary)"
                }
            }
        } catch let failure as StorageFailure where failure.isOfRequest {
            return [:]
        }
        return labels
    }
}
