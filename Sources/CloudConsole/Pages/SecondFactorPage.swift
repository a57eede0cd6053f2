// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// The operator's own second factor.
struct SecondFactorPage {
    let pages: ConsolePages
    let visit: ConsolePages.Visit

    private var service: CloudService { pages.console.service }
    private var name: String { visit.profile.accountName }

    func respond() async throws -> ServiceResponse {
        guard visit.isPost else { return try await page() }
        let (account, network, code) = (visit.account, visit.request.network, visit.fields["code"] ?? "")
        do {
            switch visit.fields["do"] {
            case "begin":
                // A session alone, such as one of a browser that was left open, does not change how its owner signs in.
                if try await hasPassword() {
                    try await service.signIns.confirmPassword(visit.fields["password"] ?? "", ofUser: name, network: network)
                } else if !pages.console.confirmations.isValid(visit.session, started: visit.started, now: service.now) {
                    let problem = "Sign in again, and set up the second factor within \(Confirmations.minutesValid) minutes."
                    return try await page(["problem": problem], status: 403)
                }
                let secret = try await service.secondFactors.begin(ofAccount: account)
                let setup = SecondFactorSetup(secret: secret, accountName: name, issuer: issuer)
                return try await page(["setup": ["text": setup.text, "address": setup.address] as [String: Any]])
            case "confirm":
                let codes = try await service.secondFactors.confirm(ofAccount: account, code: code, network: network)
                return try await page(["shown": ["codes": codes] as [String: Any]])
            case "off": try await service.secondFactors.remove(ofAccount: account, code: code, network: network)
            default: throw WireError(.badRequest, "The form has an unknown kind.")
            }
        } catch let error as WireError where [.authenticationFailed, .throttled].contains(error.code) {
            let isPassword = visit.fields["do"] == "begin"
            return try await page(
                ["problem": isPassword ? SignInPages.sentence(error) : SignInPages.sentence(ofCode: error)], status: error.code.httpStatus)
        } catch let failure as StorageFailure where failure.code == .nameTaken {
            // Another tab or browser turned it on.
            let problem = "The second factor is on already. Turn it off with a code before you set up another."
            return try await page(["problem": problem], status: 409)
        }
        return Page.redirect("/console/second-factor")
    }

    /// Issuer in the authenticator app's list, with the host to distinguish servers.
    private var issuer: String {
        let host = visit.request.baseURL.split(separator: "://", maxSplits: 1).last.map(String.init) ?? ""
        return "Tarn \(host.split(separator: ":").first.map(String.init) ?? "")"
    }

    private func hasPassword() async throws -> Bool { try await service.signIns.hasPassword(accountName: name) }

    private func page(_ values: [String: Any] = [:], status: Int = 200) async throws -> ServiceResponse {
        var values = values
        if let state = try await service.secondFactors.state(ofAccount: visit.account) {
            values["on"] = ["since": FieldText.date(state.since), "left": String(state.recoveryCodes)] as [String: Any]
        } else if values["setup"] == nil {
            values["off"] = ["password": try await hasPassword()] as [String: Any]
        }
        var response = pages.page("secondfactor", values, title: "Second factor", visit)
        response.status = status
        return response
    }
}
