// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudService
import ServiceFixtures
import Testing

/// Requests to the console's own address.
@Suite struct ConsoleOwnAddressTests {
    private static let stream = "/device/1/iCloud.org.example.notes/development/push/stream"

    private static func console(_ village: Village, _ serviceAddress: String? = nil) -> Console {
        Console(
            service: village.service, storage: village.store, settings: [(name: "console address", value: "http://127.0.0.1:8081")],
            serviceAddress: serviceAddress
        ).serving(.console)
    }

    private static func request(_ path: String, query: String = "") -> ServiceRequest {
        ServiceRequest(method: "GET", path: path, query: query, headers: [:], body: .bytes([]), baseURL: "http://127.0.0.1:8081")
    }

    /// `tarn watch --server` listens and sends an operator's requests to one address.
    @Test func theConsoleAddressServesPushStreamsAndNoOtherDeviceRequest() async throws {
        let console = Self.console(try Village())
        #expect(await console.respond(to: Self.request(Self.stream, query: "database=PUBLIC")) == nil, "the service responds")
        for path in [
            "/device/1/iCloud.org.example.notes/development/tokens/create", "/device/1/x/development/tokens/webAuth", "/device/push/stream",
        ] {
            #expect(await console.respond(to: Self.request(path))?.status == 404, "\(path)")
        }
    }

    @Test func shellCommandsContainTheAddressOfTheService() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let page = "\(ConsoleTests.base)/records/public/_defaultZone/p%3C1%3E"
        #expect(await visitor.get(page).text.contains("/database/1/"))
        let own = BrowserSession(village, console: Self.console(village, "https://cloud.example.com"))
        _ = await own.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        let text = await own.get(page).text
        #expect(text.contains("https://cloud.example.com/database/1/"))
    }
}
