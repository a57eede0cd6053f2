// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudConsole
import CloudWire
import Foundation
import NIOCore
import NIOHTTP1

/// A server that is reached with an operator's key.
struct RemoteServer: Sendable {
    /// The time for a whole exchange.
    var timeout = TimeAmount.seconds(60)
    /// Without a trailing slash.
    let address: String
    private let key: OperatorKey

    /// - Throws: `CommandError` for a missing key, and for a file that others may read.
    init(address: String, keyFile: String?) throws {
        self.address = String(address.hasSuffix("/") ? address.dropLast() : address[...])
        key = try OperatorKey(file: keyFile, environment: ProcessInfo.processInfo.environment)
    }

    /// Sends a request and returns the response's body.
    ///
    /// - Throws: `WireError` if the server rejects the request; `CommandError` if it is not reached or does not accept the key.
    func send(_ method: String, _ path: String, _ body: [UInt8]) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: address + path)
        request.method = HTTPMethod(rawValue: method)
        request.headers.add(name: HeaderNames.authorization, value: HeaderNames.bearer(key.text))
        request.headers.add(name: HeaderNames.contentType, value: HeaderNames.json)
        request.headers.add(name: "User-Agent", value: "tarn")
        if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
        var receivedStatus: Int?
        let bytes: [UInt8]
        do {
            let response = try await RemoteClient.shared.get().execute(request, timeout: timeout)
            receivedStatus = Int(response.status.code)
            bytes = Array(try await response.body.collect(upTo: Limits.messageBytes).readableBytesView)
        } catch is CancellationError {
            throw CancellationError()
        } catch let error as CommandError {
            throw error
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            // A connection has a shorter limit, so the server has the request.
            throw CommandError(
                "The server \(address) did not answer in time, and may still execute the command: look at the result before you repeat it, after a change of a schema with 'tarn schema diff'."
            )
        } catch is NIOTooManyBytesError {
            throw CommandError(
                "The response of \(address) has more than \(ByteText.text(Int64(Limits.messageBytes))): is it the address of a tarn server?"
            )
        } catch  where receivedStatus != nil {
            throw CommandError("The response of \(address) broke off: look at the result before you repeat a command that changes data.")
        } catch {
            throw CommandError("The server \(address) cannot be reached: 'tarn doctor --server \(address)' says why.")
        }
        guard let status = receivedStatus else {
            throw CommandError("The server \(address) did not respond: 'tarn doctor --server \(address)' says why.")
        }
        if 200..<300 ~= status {
            // The page of another program, or of a portal of the network.
            guard bytes.first(where: { $0 > UInt8(ascii: " ") }) == UInt8(ascii: "{") else {
                throw CommandError("\(address) answered without JSON: is it the address of a tarn server?")
            }
            return bytes
        }
        guard let error = try? WireError(json: bytes) else {
            // The page that an earlier version has for browsers without a session.
            if [401, 403, 421].contains(status) { throw refusal("no operator's session") }
            // A gateway has a limit of its own.
            if status == 413 {
                throw WireError(.quotaExceeded, "a request of \(body.count) bytes is too large", nativeCode: .limitExceeded)
            }
            throw CommandError("\(address) answered with HTTP status \(status): is it the address of a tarn server?")
        }
        switch error.code {
        case .authenticationFailed, .authenticationRequired: throw refusal(error.reason)
        default: throw error
        }
    }

    private func refusal(_ reason: String) -> CommandError {
        CommandError(
            "The server does not accept the operator's key (\(TerminalText.escaped(reason))). Make one there with 'tarn user operator-key NAME'."
        )
    }
}

/// Sends requests of the protocol to a server with an operator's key, with the permissions and the audit log of the console.
struct RemoteCarrier: RecordCarrier {
    let server: RemoteServer
    /// The container, environment and database; each request has its own operation.
    let path: ServicePath

    func send(_ operation: ServicePath.Operation, _ body: [UInt8]) async throws -> [UInt8] {
        var path = path
        path.operation = operation
        return try await server.send(operation.method, PageAddress.api + path.path, body)
    }
}

/// The secret of an operator. Descriptions do not show it.
struct OperatorKey: Sendable, CustomStringConvertible, CustomReflectable {
    static let variable = "TARN_OPERATOR_KEY"

    let text: String
    var description: String { "•••" }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// Reads the key from a file, else from the environment.
    ///
    /// - Throws: CommandError for a missing key, and for a file that others may read.
    init(file: String?, environment: [String: String]) throws {
        text = try SecretText.read(
            file: file, variable: Self.variable, environment: environment,
            what: "an operator's key for --server, which 'tarn user operator-key NAME' makes at the server", flag: "--key-file")
    }
}
