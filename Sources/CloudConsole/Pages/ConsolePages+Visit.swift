// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// Finds the session of a request.
extension ConsolePages {
    func visit(_ request: ServiceRequest) async throws -> Visit? {
        guard request.method == "GET" || request.method == "POST" else {
            throw WireError(.notFound, "could not find handler for endpoint")
        }
        let key = OperatorKeys.key(of: request)
        guard let token = key ?? request.cookie(Self.cookie) else { return nil }
        let found: (id: [UInt8], session: WebSession, next: String)
        do {
            found = try await console.service.session(ofToken: token)
        } catch let error as WireError where error.code == .authenticationRequired || error.code == .authenticationFailed {
            return nil
        }
        // A key in a cookie would open all pages, and be renewed by them.
        guard found.session.use == (key == nil ? .console : .operatorKey),
            let profile = try await console.service.profile(ofAccount: found.session.account)
        else { return nil }
        let isPost = request.method == "POST"
        let body = isPost ? try await request.form(atMost: Self.formBytesMax) : []
        let isForm = isPost && !PageRequests.isOne(request)
        let path = request.path.split(separator: "/").dropFirst().map { QueryItems.decode($0) ?? "" }
        return Visit(
            account: found.session.account, profile: profile, form: console.service.formCode(of: Hex.text(found.id)),
            request: request, query: QueryItems(request.query.replacing("+", with: " ")), fields: QueryItems(form: isForm ? body : []),
            body: body, isPost: isPost, isByKey: key != nil, consent: try await consent(request), path: path,
            headers: [Self.cookie(found.next, isKept: found.session.isKept, request)])
    }

    /// The consent of the cookie; nil if it has expired or was ended.
    private func consent(_ request: ServiceRequest) async throws -> Consent? {
        guard let token = request.cookie(ConsentPage.cookie) else { return nil }
        do {
            return try await console.service.consent(ofToken: token)
        } catch let error as WireError where error.code == .authenticationRequired || error.code == .authenticationFailed {
            return nil
        }
    }
}
