// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Accounts of the server.
struct UserPages {
    let pages: ConsolePages
    let visit: ConsolePages.Visit

    private var storage: any AdministrationStorage { pages.console.storage }

    func respond() async throws -> ServiceResponse {
        guard let account = visit.path.dropFirst().first else { return try await all() }
        guard let profile = try await storage.profiles().first(where: { $0.accountName == account }) else {
            return Page.problem("This account does not exist.", status: 404)
        }
        guard visit.isPost else { return try await page(profile) }
        let fields = visit.fields
        switch fields["do"] {
        case "revoke":
            try await storage.removeDevice(id: fields["id"] ?? "", ofUser: account)
            await pages.console.service.endRevokedListeners()
            return Page.redirect("/console/users/\(QueryItems.encode(account))")
        case "end-session":
            try await storage.endSessions(ofUser: account, id: fields["id"] ?? "")
            await pages.console.service.endRevokedListeners()
            return Page.redirect("/console/users/\(QueryItems.encode(account))")
        case "password":
            let password = fields["password"] ?? ""
            if let problem = PasswordRule.problem(password, accountName: account, isOperator: profile.isOperator) {
                throw WireError(.badRequest, problem)
            }
            try await storage.setPassword(password, ofUser: account)
        case "profile":
            let isSelf = account == visit.profile.accountName
            let isGrant = fields["operator"] != nil && !profile.isOperator
            if let email = fields["email"], !email.isEmpty, email.lowercased() != profile.emailAddress, !ContactAddress.isEmail(email) {
                throw WireError(.badRequest, ContactAddress.emailRule)
            }
            if isGrant, try await pages.console.service.hasPassword(accountName: account) {
                // A hash does not tell whether the present password follows the rule of operators.
                let password = fields["operator-password"] ?? ""
                if let problem = PasswordRule.problem(password, accountName: account, isOperator: true) {
                    throw WireError(.badRequest, "Set a new password for an operator with the flag. \(problem)")
                }
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
        case "device":
            let label = fields["device"] ?? ""
            guard (1...64).contains(label.count) else { throw WireError(.badRequest, "A label has 1 to 64 characters.") }
            let token = try await storage.addToken(userName: account, deviceLabel: label, now: pages.console.service.now)
            return try await page(profile, secret: token)
        case "quota":
            let text = fields["quota"] ?? ""
            let bytes = Int64(text)
            guard text.isEmpty || bytes.map({ (0...(1 << 50)).contains($0) }) == true else {
                throw WireError(.badRequest, "A quota is a number of bytes, 0 for no limit, or empty for the server's default.")
            }
            try await storage.setQuota(bytes, ofUser: account)
            return Page.redirect("/console/users/\(QueryItems.encode(account))")
        default: throw WireError(.badRequest, "The form has an unknown kind.")
        }
        return Page.redirect("/console/users")
    }

    private static func row(_ access: AccountAccess) -> [String: Any] {
        var row: [String: Any] = [
            "began": FieldText.date(access.began), "lastUse": access.lastUse.map { FieldText.date($0.time) } ?? "not yet",
            "network": access.lastUse?.network ?? "", "platform": access.lastUse?.platform ?? "", "id": access.id,
        ]
        switch access.kind {
        case .device(let label, let expires):
            row["kind"] = "device"
            row["label"] = label + (expires.map { ", until \(FieldText.date($0))" } ?? "")
            (row["do"], row["button"]) = ("revoke", "Revoke")
        case .session(let use, _):
            row["kind"] = "session"
            row["label"] = use.summary + (use.until.map { ", until \(FieldText.date($0))" } ?? "")
            (row["do"], row["button"]) = ("end-session", "End")
        }
        return row
    }

    private func page(_ profile: AccountProfile, secret: String? = nil) async throws -> ServiceResponse {
        let account = profile.accountName
        let usage = try await storage.usage().filter { $0.userName == account }
        let accesses = try await storage.accesses(ofUser: account)
        var values: [String: Any] = [
            "given": profile.name.givenName ?? "", "family": profile.name.familyName ?? "", "email": profile.emailAddress ?? "",
            "discoverable": profile.isDiscoverable, "operator": profile.isOperator, "accesses": accesses.map(Self.row),
            "usage": usage.map { one -> [String: Any] in
                [
                    "container": one.containerIdentifier, "environment": one.environment.rawValue,
                    "records": FieldText.bytes(one.usage.records), "files": FieldText.bytes(one.usage.assets),
                ]
            },
        ]
        if !profile.isOperator, try await pages.console.service.hasPassword(accountName: account) {
            values["asksPassword"] = ["least": PasswordRule.operatorCharactersMin]
        }
        if let quota = usage.lazy.compactMap(\.quota).first { values["quota"] = String(quota) }
        if let secret { values["secret"] = secret }
        return pages.page("user", values, title: account, visit)
    }

    private func all() async throws -> ServiceResponse {
        var values: [String: Any] = [:]
        if visit.isPost {
            let name = visit.fields["account"] ?? ""
            guard AccountName.isValid(name) else { throw WireError(.badRequest, AccountName.rule) }
            values["secret"] = try await storage.addUser(
                name: name, deviceLabel: "first device", now: pages.console.service.now)
            values["made"] = "The account \(name) was made."
        }
        let usage = Dictionary(grouping: try await storage.usage()) { $0.userName ?? "" }
        let devices = Dictionary(try await storage.users().map { ($0.name, $0.devices) }) { first, _ in first }
        values["users"] = try await storage.profiles().map { profile -> [String: Any] in
            [
                "takes": FieldText.bytes((usage[profile.accountName] ?? []).reduce(0) { $0 + $1.usage.total }),
                "devices": (devices[profile.accountName] ?? []).joined(separator: ", "),
                "account": profile.accountName,
                "name": [profile.name.givenName, profile.name.familyName].compactMap { $0 }.joined(separator: " "),
                "email": profile.emailAddress ?? "", "discoverable": profile.isDiscoverable ? "yes" : "no",
                "operator": profile.isOperator ? "yes" : "no",
            ]
        }
        return pages.page("users", values, title: "Users", visit)
    }
}
