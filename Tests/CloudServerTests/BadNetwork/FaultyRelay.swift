// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Glibc
import Synchronization
import Testing

/// A fault of one connection.
enum NetworkFault: Hashable, Sendable, CustomTestStringConvertible {
    /// Every piece of the answer comes so much later.
    case latency(milliseconds: Int32)
    /// After so many bytes of the answer nothing comes any more, and the connection stays open.
    case stall(after: Int)
    /// After so many bytes of the answer the connection is closed in good order.
    case cut(after: Int)
    /// After so many bytes of the answer the connection is reset.
    case reset(after: Int)
    /// The connection is closed after so many bytes of the request.
    case cutRequest(after: Int)
    /// The connection is closed in good order after so many bytes of the answer's body.
    case cutBody(after: Int)
    /// A byte of the answer's body is another.
    case flip(bodyByte: Int)
    /// A byte of the body of a long request is another.
    case flipRequest
    /// Something on the way answers in the server's place.
    case answer(String)
    /// The same, for every request.
    case answerAll(String)

    var testDescription: String {
        switch self {
        case .answer(let text), .answerAll(let text): String(text.prefix { $0 != "\r" })
        default: "\(self)"
        }
    }
}

/// A faulty connection to a server on this machine. Sockets and threads, without a library that might repair faults.
final class FaultyRelay: Sendable {
    private struct State {
        var fault: NetworkFault?
        /// Bytes of the answer, or of the request, since the fault was asked for.
        var answered = 0
        var asked = 0
        var bodyBytes = -1
        var links: [ObjectIdentifier: Link] = [:]
        var requests: [String] = []
        var isStopped = false
    }

    /// Two sockets. Both are closed when no thread reads from either any more: a closed descriptor may be reused
    /// immediately.
    private final class Link: Sendable {
        let near: Int32
        let far: Int32
        private let readers = Mutex(2)

        init(_ near: Int32, _ far: Int32) { (self.near, self.far) = (near, far) }

        /// - Parameter byReset: Whether the near side is to see a reset instead of an end in good order.
        func end(byReset: Bool = false) {
            if byReset {
                var option = linger(l_onoff: 1, l_linger: 0)
                setsockopt(near, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            }
            // A socket that is closed for reading only sends no FIN.
            shutdown(near, Int32(byReset ? SHUT_RD : SHUT_RDWR))
            shutdown(far, Int32(SHUT_RDWR))
        }

        /// - Returns: Whether this was the last of the two.
        func leave() -> Bool {
            let isLast = readers.withLock { readers in
                readers -= 1
                return readers == 0
            }
            guard isLast else { return false }
            close(near)
            close(far)
            return true
        }
    }

    let address: String
    private let listener: Int32
    private let serverPort: UInt16
    private let state = Mutex(State())

    init(to serverPort: Int) throws {
        self.serverPort = UInt16(serverPort)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = Self.loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isListening = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, pointer, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.EADDRNOTAVAIL) }
        address = "http://127.0.0.1:\(UInt16(bigEndian: name.sin_port))"
        Thread.detachNewThread {
            while true {
                let near = accept(listener, nil, nil)
                guard near >= 0 else { break }
                self.connect(near)
            }
            // The descriptor stays, and the port with it: another relay with the same port would meet kept connections.
        }
    }

    /// Plants a fault into the next connection, once.
    func fail(_ fault: NetworkFault) {
        state.withLock { state in
            state.fault = fault
            (state.answered, state.asked, state.bodyBytes) = (0, 0, -1)
        }
    }

    func heal() { state.withLock { $0.fault = nil } }

    /// First lines of the requests that reached the relay.
    var requests: [String] { state.withLock { $0.requests } }

    /// Refuses new connections, and closes open ones.
    func stop() {
        let links = state.withLock { state in
            state.isStopped = true
            return state.links
        }
        for link in links.values { link.end() }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    // MARK: Connections

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        name.sin_port = port.bigEndian
        return name
    }

    private func connect(_ near: Int32) {
        let far = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = Self.loopback(serverPort)
        let isThere = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(far, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let link = Link(near, far)
        let isWanted = state.withLock { state in
            if isThere, !state.isStopped { state.links[ObjectIdentifier(link)] = link }
            return isThere && !state.isStopped
        }
        guard isWanted else {
            close(near)
            close(far)
            return
        }
        Thread.detachNewThread { self.carry(link, from: near) }
        Thread.detachNewThread { self.carry(link, from: far) }
    }

    private func carry(_ link: Link, from source: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count > 0 else { break }
            let piece = Array(buffer[..<count])
            guard source == link.far ? answer(piece, link) : ask(piece, link) else { break }
        }
        link.end()
        if link.leave() { state.withLock { $0.links[ObjectIdentifier(link)] = nil } }
    }

    private func ask(_ piece: [UInt8], _ link: Link) -> Bool {
        let head = String(decoding: piece.prefix(300), as: UTF8.self)
        let isHead = ["GET ", "POST ", "HEAD ", "PATCH "].contains(where: head.hasPrefix)
        let (fault, before) = state.withLock { state in
            if isHead { state.requests.append(String(head.prefix { $0 != "\r" })) }
            defer { state.asked += piece.count }
            return (state.fault, state.asked)
        }
        switch fault {
        case .answer(let text):
            heal()
            _ = Self.send(Array(text.utf8), to: link.near)
            return false
        case .answerAll(let text):
            _ = Self.send(Array(text.utf8), to: link.near)
            return false
        case .flipRequest where !isHead && piece.count > 4096:
            heal()
            var changed = piece
            changed[piece.count / 2] ^= 0x55
            return Self.send(changed, to: link.far)
        case .cutRequest(let most) where before + piece.count >= most:
            heal()
            _ = Self.send(Array(piece.prefix(max(0, most - before))), to: link.far)
            return false
        default: return Self.send(piece, to: link.far)
        }
    }

    private func answer(_ piece: [UInt8], _ link: Link) -> Bool {
        let (fault, before) = state.withLock { state in
            defer { state.answered += piece.count }
            return (state.fault, state.answered)
        }
        func room(_ most: Int) -> [UInt8]? { before + piece.count >= most ? Array(piece.prefix(max(0, most - before))) : nil }
        switch fault {
        case .latency(let milliseconds):
            // The server sends nothing more in that time, or its bytes wait in the socket.
            var nothing = pollfd(fd: -1, events: 0, revents: 0)
            poll(&nothing, 1, milliseconds)
            return Self.send(piece, to: link.near)
        case .stall(let most):
            guard let rest = room(most) else { return Self.send(piece, to: link.near) }
            // Later bytes are read and dropped.
            return rest.isEmpty || Self.send(rest, to: link.near)
        case .cut(let most):
            guard let rest = room(most) else { return Self.send(piece, to: link.near) }
            heal()
            _ = Self.send(rest, to: link.near)
            return false
        case .reset(let most):
            guard let rest = room(most) else { return Self.send(piece, to: link.near) }
            heal()
            _ = Self.send(rest, to: link.near)
            link.end(byReset: true)
            return false
        case .cutBody(let most):
            guard let position = bodyPosition(most, in: piece) else { return Self.send(piece, to: link.near) }
            heal()
            _ = Self.send(Array(piece.prefix(position)), to: link.near)
            return false
        case .flip(let wanted): return Self.send(flipped(piece, wanted), to: link.near)
        case .answer, .answerAll, .cutRequest, .flipRequest, nil: return Self.send(piece, to: link.near)
        }
    }

    /// Changes one byte behind the head of the answer.
    private func flipped(_ piece: [UInt8], _ wanted: Int) -> [UInt8] {
        guard let position = bodyPosition(wanted, in: piece), position < piece.count else { return piece }
        heal()
        var piece = piece
        piece[position] ^= 0x55
        return piece
    }

    /// Where in a piece a byte of the body is; nil if it is in another piece.
    private func bodyPosition(_ wanted: Int, in piece: [UInt8]) -> Int? {
        state.withLock { state in
            var skipped = 0
            if state.bodyBytes < 0 {
                guard let end = piece.indices.first(where: { piece[$0...].starts(with: [13, 10, 13, 10]) }) else { return nil }
                skipped = end + 4
                state.bodyBytes = 0
            }
            defer { state.bodyBytes += piece.count - skipped }
            let position = wanted - state.bodyBytes + skipped
            return skipped...piece.count ~= position ? position : nil
        }
    }

    // MARK: Sockets

    private static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.send(descriptor, buffer.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}
