// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import SystemSupport

/// Sign-in at an identity provider, for web apps, the page of consents and the console.
struct ProviderPages {
    static let beginPath = "/signin/provider"
    /// Binds a sign-in to the browser in which it began. `Lax`, since the provider's page sends the browser back.
    static let cookie = PageCookie(name: "tarn_signin", path: "/signin", sameSite: .lax)

    /// The page of the console that the sign-in opens.
    private static let nextCookie = PageCookie(name: "tarn_next", path: "/signin", sameSite: .lax)

    let console: Console

    /// Sends the browser to the provider.
    func begin(_ request: ServiceRequest) async -> ServiceResponse {
        let query = QueryItems(request.query)
        let flow = query["flow"] ?? ""
        // Without a flow the sign-in is to the console, which the address of the apps does not have.
        guard !flow.isEmpty || console.part == .all else { return Page.problem("This address does not have the console.", status: 404) }
        guard flow.isEmpty || flow == ProviderSignIns.consentFlow || console.service.signInFlows.flow(flow) != nil else {
            return Page.problem("This sign-in has expired. Go back to the app and sign in again.", status: 400)
        }
        do {
            let (address, secret) = try await console.service.providerSignIns.begin(
                flow: flow, baseURL: request.baseURL, network: request.network)
            var headers = [Self.cookie.header(secret, seconds: 600, request)]
            if flow.isEmpty {
                let next = QueryItems.encode(ConsolePages.next(query["next"]))
                headers.append(Self.nextCookie.header(next, seconds: 600, request))
            }
            return Page.redirect(address, headers: headers)
        } catch {
            return Self.problem(error)
        }
    }

    /// Continues where the provider sent the browser back.
    func finish(_ request: ServiceRequest) async -> ServiceResponse {
        do {
            let (result, text) = try await console.service.providerSignIns.finish(
                QueryItems(request.query.replacing("+", with: " ")), browserSecret: request.cookie(Self.cookie), baseURL: request.baseURL,
                network: request.network)
            var response: ServiceResponse
            if text.isEmpty {
                response = Self.consolePage(result, request)
                response.headers.append(Self.nextCookie.removal(request))
            } else if text == ProviderSignIns.consentFlow {
                response = ConsentPages(console: console).page(afterProvider: result, request)
            } else if let flow = console.service.signInFlows.flow(text) {
                response = try await SignInPages(console: console).respond(with: result, flow, text, request)
            } else {
                return Page.problem("This sign-in has expired. Go back to the app and sign in again.", status: 400)
            }
            response.headers.append(Self.cookie.removal(request))
            return Page.ofSignIn(response)
        } catch {
            return Page.ofSignIn(Self.problem(error))
        }
    }

    private static func consolePage(_ result: SignInResult, _ request: ServiceRequest) -> ServiceResponse {
        // Checked again: pages of other hosts of the domain may set a cookie.
        let next = ConsolePages.next(request.cookie(nextCookie).flatMap { QueryItems.decode($0) })
        switch result {
        case .signedIn(let token):
            // A page instead of a redirect: the provider's page began the navigation, so that the console's `Strict` cookie would not be
            // sent with it.
            return Page.html(
                "providerdone", ["address": next, "name": "the console"], title: "Signed in",
                headers: [("Refresh", "0; url=\(next)"), ConsolePages.cookie(token, isKept: false, request)])
        case .needsCode(let challenge): return ConsolePages.codePage(challenge, next: next)
        }
    }

    private static func problem(_ error: any Error) -> ServiceResponse {
        guard let error = error as? WireError else {
            return Page.problem("The server could not sign you in. Try again later.", status: 500)
        }
        switch error.code {
        case .throttled:
            return Page.problem(
                "Too many failed sign-ins. Wait \(CountText.text(Int(error.retryAfter ?? 1), "second")) before the next one.",
                status: error.code.httpStatus)
        default: return Page.problem(error.reason, status: error.code.httpStatus)
        }
    }
}
