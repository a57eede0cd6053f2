// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService

/// A cookie of the server's pages. Scripts cannot read it, and it is sent over TLS only if the page came so.
///
/// Over TLS its name has the prefix `__Host-`, and it is for all paths: browsers accept such a cookie from this host only, so that another
/// host of the domain, or a page without TLS, cannot put a session of its own in its place. A request is read for the name of its scheme.
///
/// Source: *Cookies: HTTP State Management Mechanism* (draft RFC 6265bis), section 4.1.3.2.
struct PageCookie {
    enum SameSite: String {
        case strict = "Strict"
        /// Also with the navigation that another site begins.
        case lax = "Lax"
    }

    /// Without TLS.
    let name: String
    /// Without TLS.
    let path: String
    var sameSite = SameSite.strict

    /// - Parameter seconds: Lifetime; nil for that of the browser's session, and 0 removes the cookie.
    func header(_ value: String, seconds: Int64? = nil, _ request: ServiceRequest) -> (name: String, value: String) {
        let life = seconds.map { "; Max-Age=\(max(0, $0))" } ?? ""
        let isSecure = Self.isSecure(request)
        let place = "\(name(in: request))=\(value); Path=\(isSecure ? "/" : path)"
        return ("Set-Cookie", "\(place); HttpOnly; SameSite=\(sameSite.rawValue)\(life)\(isSecure ? "; Secure" : "")")
    }

    func name(in request: ServiceRequest) -> String { Self.isSecure(request) ? "__Host-" + name : name }

    private static func isSecure(_ request: ServiceRequest) -> Bool { request.baseURL.hasPrefix("https://") }

    func removal(_ request: ServiceRequest) -> (name: String, value: String) { header("", seconds: 0, request) }
}

extension ServiceRequest {
    /// The value of a cookie; nil without it, or with an empty one.
    func cookie(_ cookie: PageCookie) -> String? {
        let name = cookie.name(in: self)
        for part in (header("cookie") ?? "").split(separator: ";") {
            let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if pair.count == 2, pair[0] == name { return String(pair[1]) }
        }
        return nil
    }
}
