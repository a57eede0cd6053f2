// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService

/// A cookie of the server's pages. Scripts cannot read it, and it is sent over TLS only if the page came so.
struct PageCookie {
    enum SameSite: String {
        case strict = "Strict"
        /// Also with the navigation that another site begins.
        case lax = "Lax"
    }

    let name: String
    let path: String
    var sameSite = SameSite.strict

    /// - Parameter seconds: Lifetime; nil for that of the browser's session, and 0 removes the cookie.
    func header(_ value: String, seconds: Int64? = nil, _ request: ServiceRequest) -> (name: String, value: String) {
        let life = seconds.map { "; Max-Age=\(max(0, $0))" } ?? ""
        let secure = request.baseURL.hasPrefix("https://") ? "; Secure" : ""
        return ("Set-Cookie", "\(name)=\(value); Path=\(path); HttpOnly; SameSite=\(sameSite.rawValue)\(life)\(secure)")
    }

    func removal(_ request: ServiceRequest) -> (name: String, value: String) { header("", seconds: 0, request) }
}

extension ServiceRequest {
    /// The value of a cookie; nil without it, or with an empty one.
    func cookie(_ cookie: PageCookie) -> String? {
        for part in (header("cookie") ?? "").split(separator: ";") {
            let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if pair.count == 2, pair[0] == cookie.name { return String(pair[1]) }
        }
        return nil
    }
}
