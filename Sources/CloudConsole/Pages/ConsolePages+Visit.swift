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
            found = try await console.service.sessions.session(ofToken: token)
        } catch let error as WireError where error.code == .authenticationRequired || error.code == .authenticationFailed {
            return nil
        }
        // A key in a cookie would open all pages, and be renewed by them.
        guard found.session.use == (key == nil ? .console : .operatorKey),
            let profile = try await console.service.directory.profile(ofAccount: found.session.account)
        else { return nil }
        console.service.sessions.noteUse(ofSession: found.id, by: request)
        // Requests of the protocol take theirs when they are answered, as JSON.
        if !PageRequests.isOne(request) { try console.service.budgets.take(ofAccount: found.session.account) }
        let isPost = request.method == "POST"
        let path = request.path.split(separator: "/").dropFirst().map { QueryItems.decode($0) ?? "" }
        // Of other people than operators, only the form of Sign out is read.
        let ownBytesMax = OperatorRequests.name(in: request) == nil ? Self.formBytesMax : OperatorRequests.bodyBytesMax
        let bytesMax = profile.isOperator ? ownBytesMax : path == ["signout"] ? Self.smallFormBytesMax : 0
        let body = isPost && bytesMax > 0 ? try await request.form(atMost: bytesMax) : []
        let isForm = isPost && !PageRequests.isOne(request)
        let fields = try QueryItems(form: isForm ? body : [], atMost: itemsMax(ofForm: path))
        return Visit(
            account: found.session.account, session: found.id, started: found.session.started, profile: profile,
            form: console.service.formCode(of: Hex.text(found.id)), request: request,
            query: QueryItems(request.query.replacing("+", with: " ")), fields: fields, body: body, isPost: isPost,
            isByKey: key != nil, consent: try await consent(request), path: path,
            headers: [Self.cookie(found.next, isKept: found.session.isKept, request)])
    }

    /// Items that the form of a page may have: a record's has the controls of each field's elements, and a type's the boxes of each field.
    private func itemsMax(ofForm path: [String]) -> Int {
        guard path.first == "c", path.count > 4 else { return Self.formItemsMax }
        let fields = console.service.engine.limits.fieldsPerRecord
        switch path[3] {
        case "records": return Self.formItemsMax + fields * FieldForm.controlsMax
        case "types": return Self.formItemsMax + fields * 4
        default: return Self.formItemsMax
        }
    }

    /// The consent of the cookie; nil if it has expired or was ended.
    private func consent(_ request: ServiceRequest) async throws -> Consent? {
        guard let token = request.cookie(ConsentPage.cookie) else { return nil }
        do {
            return try await console.service.consents.consent(ofToken: token)
        } catch let error as WireError where error.code == .authenticationRequired || error.code == .authenticationFailed {
            return nil
        }
    }
}
