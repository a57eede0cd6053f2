// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Asks for the operator's password before an act that gives access to the server or to a person's data.
///
/// A browser that was left open has a session, and not the password. The page has the fields of the act's form, so that the act is carried
/// out once the password is right.
struct ConfirmationPage {
    private static let (passwordField, codeField) = ("confirm-password", "confirm-code")

    let pages: ConsolePages
    let visit: ConsolePages.Visit

    private var service: CloudService { pages.console.service }

    /// - Returns: The page that asks; nil if the act needs no confirmation, or has it.
    func respond() async throws -> ServiceResponse? {
        let confirmations = pages.console.confirmations
        guard visit.isPost, !confirmations.isValid(visit.session, started: visit.started, now: service.now), try await isNeeded() else {
            return nil
        }
        let (account, network) = (visit.account, visit.request.network)
        do {
            // With a second factor the code is asked for: the password alone does not open the console either.
            if try await service.secondFactors.state(ofAccount: account) != nil {
                guard let code = visit.fields[Self.codeField] else { return page(["code": true]) }
                do {
                    try await service.secondFactors.confirmCode(code, ofAccount: account, network: network)
                } catch let error as WireError where [.authenticationFailed, .throttled].contains(error.code) {
                    return page(["code": true, "problem": SignInPages.sentence(ofCode: error)], status: error.code.httpStatus)
                }
            } else if try await service.signIns.hasPassword(accountName: visit.profile.accountName) {
                guard let password = visit.fields[Self.passwordField] else { return page(["password": true]) }
                try await service.signIns.confirmPassword(password, ofUser: visit.profile.accountName, network: network)
            } else {
                // The identity provider has the password.
                return page(["none": true], status: 403)
            }
        } catch let error as WireError where [.authenticationFailed, .throttled].contains(error.code) {
            let problem = error.code == .throttled ? SignInPages.sentence(error) : "The password is wrong."
            return page(["password": true, "problem": problem], status: error.code.httpStatus)
        }
        confirmations.add(visit.session, now: service.now)
        return nil
    }

    /// Returns `true` for a new password, another operator flag, a token of another person's device, credentials of production, the
    /// deployment to it, and the end of a share or of a participant's access.
    private func isNeeded() async throws -> Bool {
        // Pages ignore further components of their paths, so an act is found with them, too.
        let (path, verb) = (visit.path, visit.fields["do"] ?? "")
        if path.count >= 2, path[0] == "users" {
            switch verb {
            case "password": return true
            case "device": return path[1] != visit.profile.accountName
            case "profile":
                let profile: AccountProfile? =
                    if let account = try await pages.console.storage.account(named: path[1]) {
                        try await pages.console.service.directory.profile(ofAccount: account)
                    } else {
                        nil
                    }
                return path[1] != visit.profile.accountName && profile?.isOperator != (visit.fields["operator"] != nil)
            default: return false
            }
        }
        guard path.count >= 4, path[0] == "c" else { return false }
        switch path[3] {
        case "tokens":
            return path[2] == CloudEnvironment.production.rawValue && ["add-token", "rotate-token", "add-key", "rotate-key"].contains(verb)
        // The first form shows what would be deployed.
        case "schema": return verb == "deploy" && visit.fields["confirmed"] != nil
        case "zones": return [SharePages.removeVerb, SharePages.stopVerb].contains(verb) && visit.fields["confirmed"] != nil
        default: return false
        }
    }

    private func page(_ values: [String: Any], status: Int = 200) -> ServiceResponse {
        var values = values
        let own = ["form", Self.passwordField, Self.codeField]
        values["fields"] = visit.fields.all.filter { !own.contains($0.name) }.map { ["name": $0.name, "value": $0.value] }
        values["minutes"] = Int(Confirmations.minutesValid)
        values["back"] = visit.request.path
        return pages.page("confirm", values, title: "Confirm that it is you", visit, status: status)
    }
}
