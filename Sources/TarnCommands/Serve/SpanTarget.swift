// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// The destination of trace spans.
enum SpanTarget: Hashable, Sendable {
    /// A collector of the OpenTelemetry protocol.
    case collector(String)
    /// A file with one export request per line, as collectors read it.
    case file(String)

    /// - Throws: `CommandError` for any other text.
    init(_ text: String) throws {
        if text.hasPrefix("file:"), text.count > 5 {
            self = .file(String(text.dropFirst(5)))
        } else if let url = URL(string: text), url.host != nil, url.scheme == "http" || url.scheme == "https" {
            self = .collector(text)
        } else {
            throw CommandError("Traces go to an address that begins with http:// or https://, or to file:PATH.")
        }
    }

    private struct Refused: Error {}

    /// - Throws: `CommandError` for a file that cannot be written.
    func sender() throws -> @Sendable ([UInt8]) async throws -> Void {
        switch self {
        case .collector(let address):
            return { bytes in
                var request = HTTPClientRequest(url: address)
                request.method = .POST
                request.headers.add(name: "Content-Type", value: "application/json")
                request.body = .bytes(ByteBuffer(bytes: bytes))
                let response = try await HTTPClient.shared.execute(request, timeout: .seconds(5))
                // Drains the response, so that the connection can be reused.
                _ = try await response.body.collect(upTo: 1 << 20)
                guard (200..<300).contains(response.status.code) else { throw Refused() }
            }
        case .file(let path):
            guard FileManager.default.fileExists(atPath: path) || FileManager.default.createFile(atPath: path, contents: nil),
                let file = FileHandle(forWritingAtPath: path)
            else { throw CommandError("The file \(path) for traces cannot be written.") }
            return { bytes in
                try file.seekToEnd()
                try file.write(contentsOf: Data(bytes) + Data("\n".utf8))
            }
        }
    }
}
