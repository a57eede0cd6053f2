// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Accounts of the server.
struct UserPages {
    let pages: ConsolePages
    let visit: ConsolePages.Visit

    /// Name of the page that the script of an account's page polls.
    static let devicesFile = "devices.json"

    private var storage: any AdministrationStorage { pages.console.storage }
    private var context: AdminContext { AdminContext(service: pages.console.service, storage: storage) }
    private var devices: DevicePages { DevicePages(pages: pages, visit: visit) }

    func respond() async throws -> ServiceResponse {
        guard let account = visit.path.dropFirst().first else { return try await all() }
        guard let number = try await storage.account(named: account),
            let profile = try await pages.console.service.directory.profile(ofAccount: number)
        else {
            return pages.problem("This account does not exist.", status: 404, visit)
        }
        if visit.path.dropFirst(2).first == Self.devicesFile {
            return try await devices.json(ofAccount: number, named: account)
        }
        guard visit.isPost else { return try await page(profile) }
        do {
            return try await change(profile)
        } catch let error as WireError where error.code == .badRequest {
            return try await page(profile, problem: error.reason, status: error.code.httpStatus)
        } catch let failure as StorageFailure where failure.isOfRequest {
            return try await page(profile, problem: failure.sentence, status: 409)
        }
    }

    private static let saved = [
        "password": "The password was set.", "profile": "The profile was saved.", "quota": "The quota was set.",
        "revoke": "The device was revoked.", "end-session": "The session was ended.",
    ]

    private func change(_ profile: AccountProfile) async throws -> ServiceResponse {
        let (fields, account) = (visit.fields, profile.accountName)
        let verb = fields["do"] ?? ""
        switch verb {
        case "revoke": _ = try await RevokeDevice(account: account, device: .id(fields["id"] ?? "")).perform(in: context)
        case "end-session": _ = try await EndSessions(account: account, id: fields["id"] ?? "").perform(in: context)
        case "password":
            let password = fields["password"] ?? ""
            if let problem = PasswordRule.problem(password, accountName: account, isOperator: profile.isOperator) {
                throw WireError(.badRequest, problem)
            }
            try await storage.setPassword(password, ofUser: account)
        case "profile": try await changeProfile(profile)
        case "device":
            let label = fields["device"] ?? ""
            guard (1...64).contains(label.count) else { throw WireError(.badRequest, "A label has 1 to 64 characters.") }
            let token = try await storage.addToken(userName: account, deviceLabel: label, now: pages.console.service.now)
            return try await page(profile, secret: token)
        case "quota":
            let text = fields["quota"] ?? ""
            let bytes = Int64(text)
            guard text.isEmpty || bytes != nil else {
                throw WireError(.badRequest, "A quota is a number of bytes, 0 for no limit, or empty for the server's default.")
            }
            _ = try await SetQuota(account: account, bytes: bytes).perform(in: context)
        default: throw WireError(.badRequest, "The form has an unknown kind.")
        }
        return Page.redirect("/console/users/\(QueryItems.encode(account))?saved=\(verb)")
    }

    private func changeProfile(_ profile: AccountProfile) async throws {
        let (fields, account) = (visit.fields, profile.accountName)
        let isSelf = account == visit.profile.accountName
        let isGrant = fields["operator"] != nil && !profile.isOperator
        if let email = fields["email"], !email.isEmpty, email.lowercased() != profile.emailAddress, !ContactAddress.isEmail(email) {
            throw WireError(.badRequest, ContactAddress.emailRule)
        }
        if isGrant, try await pages.console.service.signIns.hasPassword(accountName: account) {
            // The present password's hash doesn't show whether it follows the rule of operators.
            let password = fields["operator-password"] ?? ""
            if let problem = PasswordRule.problem(password, accountName: account, isOperator: true) {
                throw WireError(.badRequest, "Set a new password for an operator with the flag. \(problem)")
            }
            // An address that is another account's is rejected before the password is replaced.
            try await storage.updateProfile(ofUser: account) { $0.emailAddress = fields["email"].flatMap { $0.isEmpty ? nil : $0 } }
            try await storage.setPassword(password, ofUser: account)
        }
        try await storage.updateProfile(ofUser: account) { profile in
            profile.name.givenName = fields["given"].flatMap { $0.isEmpty ? nil : $0 }
            profile.name.familyName = fields["family"].flatMap { $0.isEmpty ? nil : $0 }
            profile.emailAddress = fields["email"].flatMap { $0.isEmpty ? nil : $0 }
            profile.isDiscoverable = fields["discoverable"] != nil
            // Operators cannot revoke their own role: one has to remain.
            profile.isOperator = fields["operator"] != nil || isSelf
        }
    }

    private static func row(_ access: AccountAccess, connected: Int64?) -> [String: Any] {
        var row: [String: Any] = [
            "began": FieldText.date(access.began), "lastUse": access.lastUse.map { FieldText.date($0.time) } ?? "not yet",
            "network": access.lastUse?.network ?? "", "platform": access.lastUse?.platform ?? "", "id": access.id,
            "connected": FieldText.date(connected),
        ]
        switch access.kind {
        case .device(let label, let expires):
            row["kind"] = "device"
            row["label"] = label + (expires.map { ", until \(FieldText.date($0)) UTC" } ?? "")
            (row["do"], row["button"]) = ("revoke", "Revoke")
        case .session(let use, _):
            row["kind"] = "session"
            row["label"] = use.summary + (use.until.map { ", until \(FieldText.date($0)) UTC" } ?? "")
            (row["do"], row["button"]) = ("end-session", "End")
        }
        return row
    }

    /// - Parameter problem: Of the submitted form. The page keeps its texts, except for passwords.
    private func page(
        _ profile: AccountProfile, secret: String? = nil, problem: String? = nil, status: Int = 200
    ) async throws -> ServiceResponse {
        let account = profile.accountName
        let usage = try await storage.usage(ofUsers: [account])
        let accesses = try await storage.accesses(ofUser: account)
        let connected = devices.connected(accesses, ofAccount: try await storage.account(named: account) ?? 0)
        var values: [String: Any] = [
            "given": profile.name.givenName ?? "", "family": profile.name.familyName ?? "", "email": profile.emailAddress ?? "",
            "discoverable": profile.isDiscoverable, "operator": profile.isOperator,
            "accesses": accesses.map { Self.row($0, connected: connected[$0.id]) },
            "address": "/console/users/\(QueryItems.encode(account))/\(Self.devicesFile)",
            "usage": usage.map { one -> [String: Any] in
                [
                    "container": one.containerIdentifier, "environment": one.environment.rawValue,
                    "records": FieldText.bytes(one.usage.records), "files": FieldText.bytes(one.usage.assets),
                ]
            },
        ]
        if !profile.isOperator, try await pages.console.service.signIns.hasPassword(accountName: account) {
            values["asksPassword"] = ["least": PasswordRule.operatorCharactersMin]
        }
        if let quota = try await storage.quota(ofUser: account) { values["quota"] = String(quota) }
        if let secret { values["secret"] = secret }
        if let saved = visit.query["saved"], !visit.isPost, let text = Self.saved[saved] { values["saved"] = text }
        if let problem {
            values["problem"] = problem
            values.merge(typed) { $1 }
        }
        return pages.page("user", values, title: account, visit, scripts: ["/console-connected.js"], status: status)
    }

    /// The submitted texts and boxes of the page's forms.
    private var typed: [String: Any] {
        let fields = visit.fields
        switch fields["do"] {
        case "profile":
            return [
                "given": fields["given"] ?? "", "family": fields["family"] ?? "", "email": fields["email"] ?? "",
                "discoverable": fields["discoverable"] != nil, "operator": fields["operator"] != nil,
            ]
        case "device": return ["device": fields["device"] ?? ""]
        case "quota": return ["quota": fields["quota"] ?? ""]
        default: return [:]
        }
    }

    // MARK: List

    private func all() async throws -> ServiceResponse {
        guard visit.isPost else { return try await list([:]) }
        let name = visit.fields["account"] ?? ""
        do {
            let secret = try await AddUser(account: name, device: "first device").perform(in: context).secret
            return try await list(["secret": secret, "made": "The account was made:", "account": name])
        } catch let error as WireError where error.code == .badRequest {
            return try await list(["problem": error.reason, "typed": name], status: error.code.httpStatus)
        } catch let failure as StorageFailure where failure.isOfRequest {
            return try await list(["problem": failure.sentence, "typed": name], status: 409)
        }
    }

    private func list(_ values: [String: Any], status: Int = 200) async throws -> ServiceResponse {
        var values = values
        let page = try await AccountPage(storage, visit.query)
        let names = page.profiles.map(\.accountName)
        let usage = Dictionary(grouping: try await storage.usage(ofUsers: names)) { $0.userName ?? "" }
        let devices = Dictionary(try await storage.users(named: names).map { ($0.name, $0.devices) }) { first, _ in first }
        values["users"] = page.profiles.map { profile -> [String: Any] in
            [
                "size": FieldText.bytes((usage[profile.accountName] ?? []).reduce(0) { $0 + $1.usage.total }),
                "devices": (devices[profile.accountName] ?? []).joined(separator: ", "),
                "account": profile.accountName,
                "name": [profile.name.givenName, profile.name.familyName].compactMap { $0 }.joined(separator: " "),
                "email": profile.emailAddress ?? "", "discoverable": profile.isDiscoverable ? "yes" : "no",
                "operator": profile.isOperator ? "yes" : "no",
            ]
        }
        values["q"] = page.prefix
        if let next = page.next { values["next"] = next }
        if let previous = page.previous { values["previous"] = previous }
        return pages.page("users", values, title: "Users", visit, status: status)
    }
}
