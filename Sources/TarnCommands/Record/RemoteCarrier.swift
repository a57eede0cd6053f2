// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudConsole
import CloudWire
import Foundation
import NIOCore
import NIOHTTP1
import SystemSupport

/// Sends requests to a server with an operator's key, with the permissions and the audit log of the console.
struct RemoteCarrier: RecordCarrier {
    private static let timeout = TimeAmount.seconds(60)

    /// Without a trailing slash.
    let server: String
    let key: OperatorKey
    /// The container, environment and database; each request has its own operation.
    let path: ServicePath

    func send(_ operation: ServicePath.Operation, _ body: [UInt8]) async throws -> [UInt8] {
        var path = path
        path.operation = operation
        var request = HTTPClientRequest(url: server + PageAddress.api + path.path)
        request.method = HTTPMethod(rawValue: operation.method)
        request.headers.add(name: HeaderNames.authorization, value: HeaderNames.bearer(key.text))
        request.headers.add(name: HeaderNames.contentType, value: HeaderNames.json)
        request.headers.add(name: "User-Agent", value: "tarn")
        if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
        let status: Int
        let bytes: [UInt8]
        do {
            let response = try await RemoteClient.shared.get().execute(request, timeout: Self.timeout)
            status = Int(response.status.code)
            bytes = Array(try await response.body.collect(upTo: Limits.messageBytes).readableBytesView)
        } catch is CancellationError {
            throw CancellationError()
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError("The server \(server) cannot be reached: 'tarn doctor --server \(server)' says why.")
        }
        if 200..<300 ~= status { return bytes }
        guard let error = try? WireError(json: bytes) else {
            // The console's page for browsers without a session.
            if [401, 403, 421].contains(status) { throw refusal("no operator's session") }
            throw CommandError("\(server) answered with HTTP status \(status): is it the address of a tarn server?")
        }
        switch error.code {
        case .authenticationFailed, .authenticationRequired: throw refusal(error.reason)
        default: throw error
        }
    }

    private func refusal(_ reason: String) -> CommandError {
        CommandError("The server does not accept the operator's key (\(reason)). Make one there with 'tarn user operator-key NAME'.")
    }
}

/// The secret of an operator. Descriptions do not show it.
struct OperatorKey: Sendable, CustomStringConvertible, CustomReflectable {
    static let variable = "TARN_OPERATOR_KEY"

    let text: String
    var description: String { "•••" }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// Reads the key from a file, else from the environment. It can't be an argument, which other users of the machine see.
    ///
    /// - Throws: CommandError for a missing key, and for a file that others may read.
    init(file: String?, environment: [String: String]) throws {
        let text: String
        if let file {
            guard let stamp = FileStamp(path: file), let content = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw CommandError("The key file \(file) cannot be read: name a file with the line that 'tarn user operator-key' printed.")
            }
            guard !stamp.isOpenToOthers else {
                throw CommandError("Other users may read the key file \(file): run 'chmod 600 \(file)' first.")
            }
            text = content
        } else if let value = environment[Self.variable] {
            text = value
        } else {
            throw CommandError(
                "--server needs an operator's key: set \(Self.variable), or name a file with --key-file. The operator makes the key at the server with 'tarn user operator-key NAME'."
            )
        }
        self.text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !self.text.isEmpty, self.text.utf8.allSatisfy({ (33...126).contains($0) }), self.text.utf8.count <= 1024 else {
            throw CommandError(
                "The operator's key is not one line of printable characters: copy it as 'tarn user operator-key' printed it.")
        }
    }
}
