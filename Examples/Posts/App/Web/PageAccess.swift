// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Hummingbird

/// Rejects requests of other sites' pages: a browser that shows one may reach this machine, too.
///
/// A request must name this device's address as its host, which defeats DNS names that were pointed here. A request that
/// changes something must have a content type that a foreign page cannot send without asking first.
///
/// With a key, a browser also needs the key: it opens `/?key=KEY` once, and has it in a cookie from then on.
struct PageAccess: Sendable {
    private static let cookie = "posts-key"

    let host: String
    let key: String?

    /// - Returns: nil for a request that may continue.
    func refusal(authority: String, method: HTTPRequest.Method, contentType: String?) -> HTTPError? {
        let name = authority.split(separator: ":", omittingEmptySubsequences: false).first.map(String.init) ?? ""
        guard name == host || host == "127.0.0.1" && name == "localhost" else {
            return HTTPError(.forbidden, message: "Open this device at http://\(host).")
        }
        guard method == .post else { return nil }
        let type = contentType?.split(separator: ";").first.map { $0.lowercased() } ?? ""
        guard type == "application/json" || type == "application/octet-stream" else {
            return HTTPError(.unsupportedMediaType, message: "Send application/json, or application/octet-stream for a picture.")
        }
        return nil
    }

    /// Whether a request may continue with the key that it has, if one is needed.
    func hasKey(cookies: String?) -> Bool {
        guard let key else { return true }
        let pairs = (cookies ?? "").split(separator: ";").map { $0.drop { $0 == " " } }
        return pairs.contains { Self.isEqual(String($0), "\(Self.cookie)=\(key)") }
    }

    /// The cookie for a browser that opened the link with the key; nil for another key.
    func cookie(forLink given: String) -> String? {
        guard let key, Self.isEqual(given, key) else { return nil }
        return "\(Self.cookie)=\(key); Path=/; HttpOnly; SameSite=Strict"
    }

    /// Compares in a time that depends on the lengths only.
    private static func isEqual(_ first: String, _ second: String) -> Bool {
        guard first.utf8.count == second.utf8.count else { return false }
        return zip(first.utf8, second.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// Applies ``PageAccess`` to each request.
struct PageGuard<Context: RequestContext>: RouterMiddleware {
    let access: PageAccess

    func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response {
        let refusal = access.refusal(
            authority: request.head.authority ?? "", method: request.method, contentType: request.headers[.contentType])
        if let refusal { throw refusal }
        if request.uri.path == "/", let given = request.uri.queryParameters["key"], let cookie = access.cookie(forLink: String(given)) {
            return Response(status: .seeOther, headers: [.location: "/", .setCookie: cookie, .cacheControl: "no-store"])
        }
        guard access.hasKey(cookies: request.headers[.cookie]) else {
            throw HTTPError(.forbidden, message: "Open this device by the link with its key.")
        }
        return try await next(request, context)
    }
}
