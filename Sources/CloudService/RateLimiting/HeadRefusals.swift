// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The head of a request as a carrier reads it, before anything is checked.
package struct RequestHead: Sendable {
    package var path: String
    package var query: String
    package var authorization: String?
    /// Identifier of a server-to-server key.
    package var keyID: String?
    /// Client network prefix.
    package var network: String

    package init(path: String, query: String, authorization: String?, keyID: String?, network: String) {
        self.path = path
        self.query = query
        self.authorization = authorization
        self.keyID = keyID
        self.network = network
    }

    /// A hash, with a seed of the process, of the credential that the head names; nil for web tokens, which change with each response.
    var credentialHash: Int? {
        if !query.isEmpty, query.contains("ckAPIToken=") { return nil }
        var hasher = Hasher()
        if let authorization {
            hasher.combine("token")
            hasher.combine(authorization)
        } else if let keyID {
            hasher.combine("key")
            hasher.combine(keyID)
        } else {
            hasher.combine("network")
            hasher.combine(network)
        }
        return hasher.finalize()
    }
}

/// Refusals of an overloaded server.
package struct HeadRefusals: ServiceSubject {
    let core: ServiceCore
    let admission: AdmissionGate
    let errors: ErrorResponses

    /// Refuses a request by its head while the server is overloaded, before its body is read and its sender authenticated: a refusal has
    /// to cost much less than a response, or refusals take the time of accepted requests.
    ///
    /// A sender is known by the credential of an earlier request. A forged one is refused, or goes on to be authenticated.
    ///
    /// - Returns: Nil for a request that may be admitted.
    package func refusal(of head: RequestHead) -> ServiceResponse? {
        guard Self.isAdmitted(path: head.path), let credential = head.credentialHash,
            let error = admission.refusal(ofCredentialHash: credential)
        else { return nil }
        let uuid = surroundings.makeIdentifier()
        var response = errors.response(to: error, uuid: uuid)
        response.requestUUID = uuid
        response.endpoint = ServiceResponse.endpoint(ofPath: head.path)
        response.headers.append((HeaderNames.requestUUID, uuid))
        response.headers = profile.headers(response.headers)
        return response
    }

    /// `true` for requests that ``AdmissionController`` decides on. Push streams, files and pages are not among them.
    package static func isAdmitted(path: String) -> Bool { path.hasPrefix("/database/") }

    /// Remembers the sender of a request that was authenticated, for ``refusal(of:)``.
    func rememberSender(of request: ServiceRequest, _ requester: String) {
        let head = RequestHead(
            path: request.path, query: request.query, authorization: request.header(HeaderNames.authorization),
            keyID: request.header(HeaderNames.requestKeyID), network: request.network)
        if let credential = head.credentialHash { admission.remember(requester, credentialHash: credential) }
    }
}
