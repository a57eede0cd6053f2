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

/// A server on a real socket that sends until the client disconnects.
final class EndlessServer: Sendable {
    /// After this number of bytes the client does not disconnect any more.
    static let bytesMax = 256 << 20

    let address: String
    private let listener: Int32
    private let state = Mutex((sent: 0, connections: 0))

    /// - Parameters:
    ///   - head: The beginning of the response.
    ///   - piece: The repeated content.
    init(_ head: String, then piece: String) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let result = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, pointer, &length) == 0
            }
        }
        guard result else { throw CKError(.internalError, "the test's socket cannot be opened") }
        address = "http://127.0.0.1:\(UInt16(bigEndian: name.sin_port))"
        let (head, body) = (Array(head.utf8), Array(String(repeating: piece, count: max(1, 65_536 / piece.utf8.count)).utf8))
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                self?.pour(head, body, into: connection)
                close(connection)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Bytes accepted by clients, of all connections.
    var sent: Int { state.withLock { $0.sent } }
    var connections: Int { state.withLock { $0.connections } }

    private func pour(_ head: [UInt8], _ body: [UInt8], into connection: Int32) {
        state.withLock { $0.connections += 1 }
        var piece = head.isEmpty ? body : head
        while sent < Self.bytesMax {
            let count = send(connection, piece, piece.count, Int32(MSG_NOSIGNAL))
            guard count > 0 else { return }
            state.withLock { $0.sent += count }
            if count == piece.count { piece = body } else { piece = Array(piece[count...]) + body }
        }
    }
}
