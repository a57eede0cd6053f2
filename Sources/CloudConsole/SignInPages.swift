// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import SystemSupport

/// The page on which people sign in for a web app.
///
/// Source: *CloudKit Web Services Reference*, "Getting a Web Auth Token": afterwards the browser goes to the callback of
/// the API token, or the page hands the token to the one that opened it.
struct SignInPages {
    let console: Console

    func respond(to request: ServiceRequest) async -> ServiceResponse {
        let query = QueryItems(request.query)
        guard let text = query["flow"], let flow = console.service.signInFlows.flow(text) else {
            return Page.problem("This sign-in has expired. Go back to the app and sign in again.", status: 400)
        }
        guard request.method == "POST" else { return page(flow, text) }
        do {
            let form = try QueryItems(form: try await request.form(atMost: 16_384))
            if let challenge = form["challenge"] {
                return Page.ofSignIn(await respond(toCode: form["code"] ?? "", challenge, flow, text, request))
            }
            let place = SignInPlace(
                containerIdentifier: flow.containerIdentifier, environment: flow.environment, isKept: form["keep"] != nil)
            let result = try await console.service.signIns.signIn(
                name: form["name"] ?? "", password: form["password"] ?? "", to: place, network: request.network)
            return Page.ofSignIn(try await respond(with: result, flow, text, request))
        } catch let error as WireError {
            return Page.ofSignIn(page(flow, text, problem: Self.sentence(error), status: error.code.httpStatus))
        } catch {
            return page(flow, text, problem: "The server could not sign you in. Try again later.", status: 500)
        }
    }

    /// Hands the token to the app, or asks for a code.
    func respond(with result: SignInResult, _ flow: SignInFlow, _ text: String, _ request: ServiceRequest) async throws -> ServiceResponse {
        switch result {
        case .signedIn(let token): try await handOver(token, flow, request)
        case .needsCode(let challenge): codePage(challenge, text)
        }
    }

    private func respond(
        toCode code: String, _ challenge: String, _ flow: SignInFlow, _ text: String, _ request: ServiceRequest
    ) async -> ServiceResponse {
        do {
            let token = try await console.service.secondFactors.signIn(
                challenge: challenge, code: code, containerIdentifier: flow.containerIdentifier, environment: flow.environment,
                network: request.network
            ).token
            return try await handOver(token, flow, request)
        } catch let error as WireError where error.code != .authenticationRequired {
            return codePage(challenge, text, problem: Self.sentence(ofCode: error), status: error.code.httpStatus)
        } catch {
            return page(flow, text, problem: "The sign-in took too long, or the server could not complete it. Sign in again.", status: 400)
        }
    }

    private func page(_ flow: SignInFlow, _ text: String, problem: String? = nil, status: Int = 200) -> ServiceResponse {
        // The person sees which site asks: an API token is public, and any page may use one without a list of origins.
        var values: [String: Any] = ["flow": text, "container": flow.containerIdentifier, "origin": flow.origin]
        if let problem { values["problem"] = problem }
        if let provider = console.service.providerSignIns.providerName { values["provider"] = provider }
        return Page.html("signin", values, title: "Sign in", status: status, isWebSignIn: true)
    }

    private func codePage(_ challenge: String, _ text: String, problem: String? = nil, status: Int = 200) -> ServiceResponse {
        var values: [String: Any] = ["flow": text, "challenge": challenge]
        if let problem { values["problem"] = problem }
        return Page.html("signincode", values, title: "Sign in", status: status, isWebSignIn: true)
    }

    private func handOver(_ token: String, _ flow: SignInFlow, _ request: ServiceRequest) async throws -> ServiceResponse {
        if let callback = try await console.service.signInFlows.apiToken(of: flow)?.callbackURL {
            let separator = callback.contains("?") ? "&" : "?"
            // Some clients look for it by its other name.
            let value = QueryItems.encode(token)
            return Page.redirect("\(callback)\(separator)ckWebAuthToken=\(value)&ckSession=\(value)")
        }
        // Only the page that asked gets the token: its browser said which one it was. A page of this server says nothing.
        let origin = flow.origin.isEmpty ? request.baseURL : flow.origin
        return Page.html("signedin", ["token": token, "origin": origin], title: "Signed in", scripts: ["/signin.js"], isWebSignIn: true)
    }

    static func sentence(ofCode error: WireError) -> String {
        error.code == .authenticationFailed ? "The code is wrong, or it was used before." : sentence(error)
    }

    static func sentence(_ error: WireError) -> String {
        switch error.code {
        case .authenticationFailed: "The name or the password is wrong."
        case .throttled:
            "Too many wrong passwords or codes. Wait \(CountText.text(Int(error.retryAfter ?? 1), "second")) before the next one."
        default: error.reason
        }
    }
}

extension ServiceRequest {
    /// The body of a form.
    ///
    /// - Throws: `WireError` with `.quotaExceeded`.
    func form(atMost limit: Int) async throws -> [UInt8] {
        let tooLarge = WireError(.quotaExceeded, "the form is too large")
        switch body {
        case .bytes(let bytes):
            guard bytes.count <= limit else { throw tooLarge }
            return bytes
        case .stream(let pieces):
            var bytes: [UInt8] = []
            for try await piece in pieces {
                guard bytes.count + piece.count <= limit else { throw tooLarge }
                bytes += piece
            }
            return bytes
        }
    }
}
