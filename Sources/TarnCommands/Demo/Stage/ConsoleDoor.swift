// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Signs a person in to the server's console, as the demo's account.
///
/// Cookies belong to a host and not to a port: a session's cookie that the demo's page sets is sent to the server as well.
struct ConsoleDoor: Sendable {
    struct Session: Sendable {
        /// The server's `Set-Cookie`.
        var cookie: String
        var port: Int
    }

    private static let answersWithin = TimeAmount.seconds(30)

    let cast: DemoCast

    /// Begins a session.
    ///
    /// - Throws: ``CommandError`` if the server does not respond.
    func open() async throws -> Session {
        let address = await cast.serverAddress
        let password = try await cast.operatorPassword()
        // The response is a redirection with the cookie.
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            var request = HTTPClientRequest(url: "\(address)/console/signin")
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(ByteBuffer(string: "name=demo&password=\(password)"))
            let response = try await client.execute(request, timeout: Self.answersWithin)
            guard let cookie = response.headers.first(name: "Set-Cookie"), let port = URL(string: address)?.port else {
                throw CommandError("The console did not accept the demo's account (status \(response.status.code)).")
            }
            try await client.shutdown()
            return Session(cookie: cookie, port: port)
        } catch {
            try? await client.shutdown()
            throw error as? CommandError ?? CommandError("The console does not respond. Start the server, and try again.")
        }
    }
}
