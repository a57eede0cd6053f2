// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CDispatch
import Foundation
import Glibc

/// One connection of an attacker or a device. Any status is a response; a broken connection and a timeout are `nil`.
final class StressConnection {
    struct Response {
        var status: Int
        var body: [UInt8]
    }

    private var socket: Int32 = -1
    private let port: Int
    private let timeout: Int

    /// - Parameter timeout: Seconds to wait for a response, or for room to send.
    init(port: Int, timeout: Int = 20) {
        self.port = port
        self.timeout = timeout
    }

    deinit { end() }

    func end() {
        if socket >= 0 { close(socket) }
        socket = -1
    }

    var isOpen: Bool { socket >= 0 }
    /// The socket, for `poll`; negative while no connection is open.
    var descriptor: Int32 { socket }

    /// Waits for bytes of a response without an end.
    ///
    /// - Returns: Nil if the connection was closed, or nothing arrives in time.
    func receive() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1 << 12)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            return count > 0 ? Array(buffer[..<count]) : nil
        }
    }

    /// Connects unless a connection is open.
    func open() -> Bool {
        if socket >= 0 { return true }
        let new = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard new >= 0 else { return false }
        var wait = timeval(tv_sec: timeout, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] { setsockopt(new, SOL_SOCKET, option, &wait, socklen_t(MemoryLayout<timeval>.size)) }
        var one: Int32 = 1
        setsockopt(new, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(new, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 }
        }
        guard isConnected else {
            close(new)
            return false
        }
        socket = new
        return true
    }

    /// Sends bytes of a request without waiting for a response.
    func write(_ bytes: [UInt8]) -> Bool {
        guard open() else { return false }
        let isSent = bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count, let start = bytes.baseAddress {
                let count = send(socket, start + offset, bytes.count - offset, Int32(MSG_NOSIGNAL))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
        return isSent
    }

    /// Sends a request and reads the response. A server may respond before it has read all of a request, and close.
    func exchange(_ request: [UInt8]) -> Response? {
        _ = write(request)
        let response = read()
        if response == nil { end() }
        return response
    }

    /// Reads a response. It looks at the bytes once and makes no texts: the client's processor time is taken from the server.
    func read() -> Response? {
        guard socket >= 0 else { return nil }
        var received: [UInt8] = []
        var head: ResponseHead?
        while true {
            if head == nil { head = ResponseHead(received) }
            if let head, received.count >= head.bytes + (head.bodyBytes ?? 0) {
                if head.closes { end() }
                return Response(status: head.status, body: Array(received[head.bytes..<head.bytes + (head.bodyBytes ?? 0)]))
            }
            let count = withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 8) { buffer in
                let count = recv(socket, buffer.baseAddress, buffer.count, 0)
                if count > 0 { received.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
                return count
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
        }
    }
}
