// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import Mustache

/// Makes answers of templates. Values are escaped by the templates; see `Templates`.
enum Page {
    /// Nothing from elsewhere, no script in the page itself, no frame around it, no form to another site.
    static let policy = policy(formsOnly: "'self'")

    /// The pages on which people sign in for a web app: their form ends at the app's callback, and the page that opened the window
    /// gets the token from it.
    private static let signInPolicy = policy(formsOnly: nil) + [(name: "Cross-Origin-Opener-Policy", value: "unsafe-none")]

    private static func policy(formsOnly target: String?) -> [(name: String, value: String)] {
        [
            (
                name: "Content-Security-Policy",
                value: "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
                    + "base-uri 'none'; frame-ancestors 'none'"
                    + (target.map { "; form-action \($0)" } ?? "")
            ),
            (name: "X-Content-Type-Options", value: "nosniff"), (name: "Referrer-Policy", value: "same-origin"),
            (name: "Cache-Control", value: "no-store"),
        ]
    }

    static func html(
        _ template: String, _ values: [String: Any], title: String, status: Int = 200, menu: [[String: Any]] = [],
        person: String? = nil, form: String = "", scripts: [String] = [], isWebSignIn: Bool = false,
        headers: [(name: String, value: String)] = []
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
            status: status,
            headers: [(HeaderNames.contentType, "text/html; charset=utf-8")] + (isWebSignIn ? signInPolicy : policy) + headers,
            body: .bytes(Array(page.utf8)), endpoint: "console")
    }

    /// - Returns: nil for a template.
    static func file(_ file: WebFile) -> ServiceResponse? {
        guard let type = file.contentType else { return nil }
        // Pages of other origins load the client of the protocol.
        let isPublic = file == .cloudkitJs
        return ServiceResponse(
            headers: [
                (HeaderNames.contentType, type), ("Cache-Control", "max-age=300"), ("X-Content-Type-Options", "nosniff"),
            ] + (isPublic ? [("Access-Control-Allow-Origin", "*")] : []),
            body: .bytes(file.bytes), endpoint: "console")
    }

    static func json(_ bytes: [UInt8], status: Int = 200) -> ServiceResponse {
        ServiceResponse(
            status: status, headers: [(HeaderNames.contentType, HeaderNames.json)] + policy, body: .bytes(bytes), endpoint: "console")
    }

    /// Redirects after a form was processed (303), so that a reload does not repeat the form.
    static func redirect(_ address: String, headers: [(name: String, value: String)] = []) -> ServiceResponse {
        ServiceResponse(
            status: 303, headers: [("Location", address), ("Cache-Control", "no-store")] + headers, body: .bytes([]),
            endpoint: "console")
    }

    /// Marks attempts to sign in, successful or not, for log and metrics.
    static func ofSignIn(_ response: ServiceResponse) -> ServiceResponse {
        var response = response
        response.endpoint = "signin"
        return response
    }

    static func problem(_ text: String, status: Int) -> ServiceResponse {
        html("problem", values(ofProblem: text), title: "The request failed", status: status)
    }

    /// A small page for a request that failed, with the seconds to wait if there are any.
    static func problem(_ error: WireError) -> ServiceResponse {
        guard let seconds = error.retryAfter.map({ Int($0.rounded(.up)) }) else {
            return problem(error.reason, status: error.code.httpStatus)
        }
        let text = error.code == .throttled ? "Too many requests. Load the page again in \(seconds) seconds." : error.reason
        var response = problem(text, status: error.code.httpStatus)
        response.headers.append((HeaderNames.retryAfter, String(seconds)))
        return response
    }

    /// Values of the template `problem`, which has a paragraph for each line.
    static func values(ofProblem text: String) -> [String: Any] { ["lines": text.split(separator: "\n").map(String.init)] }
}

/// The page at the address of a share, for people without the app.
enum SharePage {
    static func respond(to request: ServiceRequest) -> ServiceResponse? {
        guard request.method == "GET" else { return nil }
        let guid = String(request.path.dropFirst("/share/".count).prefix(100))
        return Page.html("share", ["guid": guid], title: "Shared with you")
    }
}
