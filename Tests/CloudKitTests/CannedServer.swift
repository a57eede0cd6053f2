// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A server on a real socket that answers every request with the same bytes, right or wrong.
final class CannedServer: Sendable {
    enum After { case close, stayOpen }

    let address: String
    private let listener: Int32
    private let isListening: Bool
    private let state = Mutex<(requests: [String], open: [Int32])>(([], []))

    /// - Parameter answer: Nil keeps the port to itself and refuses every connection.
    init(_ answer: String?, then after: After = .close) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        isListening = answer != nil
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let result = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && (answer == nil || listen(listener, 8) == 0)
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard result else { throw CKError(.internalError, "the test's socket cannot be opened") }
        address = "http://127.0.0.1:\(UInt16(bigEndian: name.sin_port))"
        guard let answer else { return }
        Thread.detachNewThread { [weak self] in
            // This thread closes the socket. If another one did, the next server could get its number, and this thread its connections.
            defer { close(listener) }
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                self?.serve(connection, answer, after)
                if self == nil { close(connection) }
            }
        }
    }

    deinit {
        for connection in state.withLock({ $0.open }) { close(connection) }
        shutdown(listener, Int32(SHUT_RDWR))
        if !isListening { close(listener) }
    }

    /// All requests, each with head and body.
    var requests: [String] { state.withLock { $0.requests } }

    private func serve(_ connection: Int32, _ answer: String, _ after: After) {
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !isComplete(request) {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { break }
            request.append(contentsOf: buffer[..<count])
        }
        state.withLock { $0.requests.append(text(request)) }
        let bytes = Array(answer.utf8)
        _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        switch after {
        case .close: close(connection)
        case .stayOpen: state.withLock { $0.open.append(connection) }
        }
    }

    private func isComplete(_ request: [UInt8]) -> Bool {
        let parts = text(request).components(separatedBy: "\r\n\r\n")
        guard parts.count > 1 else { return false }
        if parts[0].lowercased().contains("transfer-encoding: chunked") { return text(request).hasSuffix("0\r\n\r\n") }
        let length = parts[0].lowercased().components(separatedBy: "content-length: ").dropFirst().first
        let expected = length.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
        return parts.dropFirst().joined(separator: "\r\n\r\n").utf8.count >= expected
    }
}
