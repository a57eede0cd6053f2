// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Reads a person's private and shared databases, with the consent that they gave: `…/consent`.
///
/// The consent's token is in a cookie of the operator's browser. While it is there, the pages of its container and environment show the
/// person's databases in place of the operator's own, and change nothing in them; every page is in the audit log with the person's name.
/// A consent that ends is looked up with each request, so that the next page is of the operator's own databases again.
struct ConsentPage {
    static let cookie = PageCookie(name: "tarn_consent", path: "/console")

    let parent: ContainerPages

    /// Behind the subject of an event in the audit log.
    static func auditText(_ consent: Consent?) -> String { consent.map { ", data of \($0.accountName) by consent \($0.id)" } ?? "" }

    func respond() async throws -> ServiceResponse {
        guard parent.visit.isPost else { return page() }
        let visit = parent.visit
        switch visit.fields["do"] {
        case "read":
            let token = (visit.fields["consent"] ?? "").filter { !$0.isWhitespace }
            do {
                let consent = try await parent.service.consents.consent(ofToken: token)
                guard consent.containerIdentifier == parent.container, consent.environment == parent.environment else {
                    return page(
                        problem: "The consent is for \(consent.containerIdentifier) in \(consent.environment.rawValue). Enter it there.",
                        status: 400)
                }
                try await parent.service.audit.append(
                    "consent.used", by: .account(visit.profile.accountName), network: visit.request.network,
                    subject: "\(parent.container) \(parent.environment.rawValue)" + Self.auditText(consent))
                return Page.redirect(
                    "\(parent.base)/records",
                    headers: [Self.cookie.header(token, seconds: (consent.until - parent.service.now) / 1000, visit.request)])
            } catch let error as WireError where error.code == .authenticationRequired || error.code == .authenticationFailed {
                return page(problem: "The text is not a consent of this server, or the consent has expired or was ended.", status: 400)
            }
        case "stop": return Page.redirect("\(parent.base)/records", headers: [Self.cookie.removal(visit.request)])
        default: throw WireError(.badRequest, "The form has an unknown kind.")
        }
    }

    private func page(problem: String? = nil, status: Int = 200) -> ServiceResponse {
        // People sign in at the address of the apps, which the console's own address is not.
        let base = parent.pages.console.serviceAddress ?? parent.visit.request.baseURL
        var values: [String: Any] = ["address": base + ConsentPages.path]
        if let problem { values["problem"] = problem }
        if let consent = parent.consent {
            values["reading"] = ["person": consent.accountName, "until": FieldText.date(consent.until)]
        }
        return parent.page("consent", values, title: "A person's data", status: status)
    }
}
