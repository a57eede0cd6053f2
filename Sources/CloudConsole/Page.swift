// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import Mustache

/// Makes answers of templates. Values are escaped by the templates; see `Templates`.
enum Page {
    /// Nothing from elsewhere, no script in the page itself, no frame around it.
    static let policy = [
        (
            name: "Content-Security-Policy",
            value: "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
                + "base-uri 'none'; frame-ancestors 'none'"
        ),
        (name: "X-Content-Type-Options", value: "nosniff"), (name: "Referrer-Policy", value: "no-referrer"),
        (name: "Cache-Control", value: "no-store"),
    ]

    static func html(
        _ template: String, _ values: [String: Any], title: String, status: Int = 200, menu: [[String: Any]] = [],
        person: String? = nil, form: String = "", scripts: [String] = [], headers: [(name: String, value: String)] = []
    ) -> ServiceResponse {
        var values = values
        values["form"] = form
        let body = Templates.library.render(values, withTemplate: template) ?? ""
        var frame: [String: Any] = ["title": title, "body": body, "form": form]
        if !menu.isEmpty { frame["menu"] = menu }
        if let person { frame["person"] = person }
        frame["scripts"] = scripts
        let page = Templates.library.render(frame, withTemplate: "frame") ?? ""
        return ServiceResponse(
            status: status, headers: [(HeaderNames.contentType, "text/html; charset=utf-8")] + policy + headers,
            body: .bytes(Array(page.utf8)), endpoint: "console")
    }

    static func file(_ text: String, type: String, isPublic: Bool = false) -> ServiceResponse {
        ServiceResponse(
            headers: [
                (HeaderNames.contentType, type), ("Cache-Control", "max-age=300"), ("X-Content-Type-Options", "nosniff"),
            ] + (isPublic ? [("Access-Control-Allow-Origin", "*")] : []),
            body: .bytes(Array(text.utf8)), endpoint: "console")
    }

    static func json(_ bytes: [UInt8], status: Int = 200) -> ServiceResponse {
        ServiceResponse(
            status: status, headers: [(HeaderNames.contentType, HeaderNames.json)] + policy, body: .bytes(bytes), endpoint: "console")
    }

    /// After a form was taken: the browser goes on with a page that can be loaded again.
    static func redirect(_ address: String, headers: [(name: String, value: String)] = []) -> ServiceResponse {
        ServiceResponse(
            status: 303, headers: [("Location", address), ("Cache-Control", "no-store")] + headers, body: .bytes([]),
            endpoint: "console")
    }

    /// What log and metrics tell from other pages: attempts to sign in, right ones and wrong ones.
    static func ofSignIn(_ response: ServiceResponse) -> ServiceResponse {
        var response = response
        response.endpoint = "signin"
        return response
    }

    static func problem(_ text: String, status: Int) -> ServiceResponse {
        html("problem", ["lines": text.split(separator: "\n").map(String.init)], title: "That did not work", status: status)
    }
}

/// The page at the address of a share, for people without the app.
enum SharePage {
    static func respond(to request: ServiceRequest) -> ServiceResponse? {
        guard request.method == "GET" else { return nil }
        let guid = String(request.path.dropFirst("/share/".count).prefix(100))
        return Page.html("share", ["guid": guid], title: "Somebody shares something with you")
    }
}
