// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// A socket on this machine that answers each connection with given bytes, and remembers the requests.
///
/// Each connection has a thread of its own, which blocks.
final class CannedServer: Sendable {
    enum Answer: Sendable {
        case bytes(String)
        /// A head without the body that it announces; the connection stays open.
        case silence(after: String)
    }

    let port: Int
    private let descriptor: Int32
    private let received = Mutex<[String]>([])
    private let held = Mutex<[Int32]>([])

    /// The requests, in order.
    var requests: [String] { received.withLock { $0 } }

    init(_ answer: Answer) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [weak self, descriptor] in
            // This thread closes the socket. If another one did, the next server could get its number, and this thread its connections.
            defer { close(descriptor) }
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                guard let self else {
                    close(connection)
                    return
                }
                self.serve(connection, answer)
            }
        }
    }

    private func serve(_ connection: Int32, _ answer: Answer) {
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !request.contains([13, 10, 13, 10]) {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { break }
            request += buffer[..<count]
        }
        received.withLock { $0.append(String(decoding: request, as: UTF8.self)) }
        let text: String
        switch answer {
        case .bytes(let bytes): text = bytes
        case .silence(let head): text = head
        }
        let bytes = Array(text.utf8)
        _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        if case .silence = answer {
            held.withLock { $0.append(connection) }
        } else {
            _ = shutdown(connection, Int32(SHUT_WR))
            close(connection)
        }
    }

    /// Ends the server and its connections.
    func stop() {
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        for connection in held.withLock({ $0 }) { close(connection) }
    }
}
