// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Accounts of the server.
struct UserPages {
    let pages: ConsolePages
    let visit: ConsolePages.Visit

    private var storage: any AdministrationStorage { pages.console.storage }

    func respond() async throws -> ServiceResponse {
        guard let account = visit.path.dropFirst().first else { return try await all() }
        guard let profile = try await storage.profiles().first(where: { $0.accountName == account }) else {
            return Page.problem("There is no such account.", status: 404)
        }
        guard visit.isPost else {
            return pages.page(
                "user",
                [
                    "given": profile.name.givenName ?? "", "family": profile.name.familyName ?? "",
                    "email": profile.emailAddress ?? "", "discoverable": profile.isDiscoverable,
                    "operator": profile.isOperator,
                ], title: account, visit)
        }
        let fields = visit.fields
        switch fields["do"] {
        case "password":
            guard let password = fields["password"], password.count >= 8 else {
                throw WireError(.badRequest, "A password has at least 8 characters.")
            }
            try await storage.setPassword(password, ofUser: account)
        case "profile":
            let isSelf = account == visit.profile.accountName
            try await storage.updateProfile(ofUser: account) { profile in
                profile.name.givenName = fields["given"].flatMap { $0.isEmpty ? nil : $0 }
                profile.name.familyName = fields["family"].flatMap { $0.isEmpty ? nil : $0 }
                profile.emailAddress = fields["email"].flatMap { $0.isEmpty ? nil : $0 }
                profile.isDiscoverable = fields["discoverable"] != nil
                // Nobody shuts the door behind themselves.
                profile.isOperator = fields["operator"] != nil || isSelf
            }
        default: throw WireError(.badRequest, "The form is of no kind that there is.")
        }
        return Page.redirect("/console/users")
    }

    private func all() async throws -> ServiceResponse {
        var values: [String: Any] = [:]
        if visit.isPost {
            let name = visit.fields["account"] ?? ""
            guard Self.isAccountName(name) else {
                throw WireError(.badRequest, "A user name has 1 to 64 letters, digits and the signs . _ - @")
            }
            values["secret"] = try await storage.addUser(
                name: name, deviceLabel: "first device", now: pages.console.service.now)
            values["made"] = "The account \(name) was made."
        }
        values["users"] = try await storage.profiles().map { profile -> [String: Any] in
            [
                "account": profile.accountName,
                "name": [profile.name.givenName, profile.name.familyName].compactMap { $0 }.joined(separator: " "),
                "email": profile.emailAddress ?? "", "discoverable": profile.isDiscoverable ? "yes" : "no",
                "operator": profile.isOperator ? "yes" : "no",
            ]
        }
        return pages.page("users", values, title: "Users", visit)
    }

    private static func isAccountName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                    || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "@")].contains(byte)
            }
    }
}
