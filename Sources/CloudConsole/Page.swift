// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Mustache
import SystemSupport

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
        person: String? = nil, about: String? = nil, form: String = "", scripts: [String] = [], isWebSignIn: Bool = false,
        headers: [(name: String, value: String)] = []
    ) -> ServiceResponse {
        var values = values
        values["form"] = form
        let body = Templates.library.render(values, withTemplate: template) ?? ""
        var frame: [String: Any] = ["title": title, "body": body, "form": form]
        if !menu.isEmpty { frame["menu"] = menu }
        if let person { frame["person"] = person }
        if let about { frame["about"] = about }
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
        html("problem", values(ofProblem: text), title: title(ofStatus: status), status: status)
    }

    /// A small page for a request that failed, with the seconds to wait if there are any.
    static func problem(_ error: any Error) -> ServiceResponse {
        let failure = failure(error)
        var response = problem(failure.text, status: failure.status)
        if let seconds = failure.retryAfter { response.headers.append((HeaderNames.retryAfter, String(seconds))) }
        return response
    }

    /// The text for a person, the status, and the seconds to wait before a retry.
    static func failure(_ error: any Error) -> (text: String, status: Int, retryAfter: Int?) {
        switch error {
        case let error as WireError:
            guard let seconds = error.retryAfter.map({ Int($0.rounded(.up)) }) else { return (error.reason, error.code.httpStatus, nil) }
            let text =
                error.code == .throttled ? "Too many requests. Load the page again in \(CountText.text(seconds, "second"))." : error.reason
            return (text, error.code.httpStatus, seconds)
        case let refused as SchemaRefused: return (refused.reasons.joined(separator: "\n"), 409, nil)
        case let failure as StorageFailure where failure.isOfRequest: return (failure.sentence, 409, nil)
        case is StorageFailure: return ("The server could not read or write its data.", 500, nil)
        default: return ("The request could not be carried out.", 500, nil)
        }
    }

    static func title(ofStatus status: Int) -> String {
        switch status {
        case 400: "Not valid"
        case 401, 421: "Not signed in"
        case 403: "Not allowed"
        case 404: "Not found"
        case 409, 412: "Conflict"
        case 413: "Too large"
        case 429: "Too many requests"
        case 503: "Try again later"
        default: "The request failed"
        }
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

extension StorageFailure {
    /// `true` for a request that named what does not exist, or what exists already.
    var isOfRequest: Bool { code == .nameTaken || code == .unknownName }

    var sentence: String { "\(what.prefix(1).uppercased())\(what.dropFirst())." }
}
