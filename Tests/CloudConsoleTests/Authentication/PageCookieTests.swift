// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import ServiceFixtures
import Testing

@testable import CloudConsole

/// Names and attributes of the pages' cookies.
@Suite struct PageCookieTests {
    private static let cookies = [ConsolePages.cookie, ConsentPage.cookie, ProviderPages.cookie]

    private static func request(_ scheme: String, _ cookies: String = "") -> ServiceRequest {
        ServiceRequest(method: "GET", path: "/console", headers: ["cookie": cookies], baseURL: "\(scheme)://tarn.example")
    }

    @Test func cookiesAreBoundToTheirHostOverTLS() {
        for cookie in Self.cookies {
            let value = cookie.header("abc", seconds: 60, Self.request("https")).value
            let sameSite = cookie.sameSite.rawValue
            #expect(value == "__Host-\(cookie.name)=abc; Path=/; HttpOnly; SameSite=\(sameSite); Max-Age=60; Secure")
        }
        let removal = ConsolePages.cookie.removal(Self.request("https")).value
        #expect(removal == "__Host-tarn_console=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0; Secure")
    }

    @Test func cookiesWithoutTLSHaveTheirPathAndNoPrefix() {
        for cookie in Self.cookies {
            let value = cookie.header("abc", Self.request("http")).value
            #expect(value == "\(cookie.name)=abc; Path=\(cookie.path); HttpOnly; SameSite=\(cookie.sameSite.rawValue)")
        }
    }

    @Test func aRequestIsReadForTheNameOfItsScheme() {
        let both = "tarn_console=plain; __Host-tarn_console=bound"
        #expect(Self.request("https", both).cookie(ConsolePages.cookie) == "bound")
        #expect(Self.request("http", both).cookie(ConsolePages.cookie) == "plain")
        #expect(Self.request("https", "tarn_console=plain").cookie(ConsolePages.cookie) == nil)
        #expect(Self.request("http", "__Host-tarn_console=bound").cookie(ConsolePages.cookie) == nil)
    }

    @Test func aSessionOverTLSHasABoundCookie() async throws {
        let (_, visitor) = try await BrowserSession.signedIn()
        func respond(_ method: String, _ path: String, _ cookies: String, _ body: String = "") async throws -> ServiceResponse {
            try #require(
                await visitor.console.respond(
                    to: ServiceRequest(
                        method: method, path: path, headers: ["cookie": cookies], body: .bytes(Array(body.utf8)),
                        baseURL: "https://tarn.example")))
        }
        let signedIn = try await respond("POST", "/console/signin", "", "name=mia&password=correct+horse")
        let header = try #require(signedIn.headers.first { $0.name == "Set-Cookie" }?.value)
        let cookie = String(header.prefix { $0 != ";" })
        #expect(cookie.hasPrefix("__Host-tarn_console="))
        #expect(try await respond("GET", "/console", cookie).text.contains("Containers"))
        let plain = String(cookie.dropFirst("__Host-".count))
        #expect(try await respond("GET", "/console", plain).text.contains("name=\"password\""))
    }
}
