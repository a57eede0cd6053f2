// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation

/// A connection for arbitrary bytes, also those that HTTP clients never send.
final class RawConnection: Sendable {
    struct Failure: Error {
        let number: Int32
    }

    private static let queue = DispatchQueue(label: "raw", attributes: .concurrent, target: .global())
    private let descriptor: Int32

    /// - Parameter receiveBytes: The size of the kernel's buffer for bytes that were not read; nil for its default.
    init(port: Int, receiveBytes: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var receiveBytes { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBytes, socklen_t(MemoryLayout<Int32>.size)) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        guard result == 0 else { throw Failure(number: errno) }
        // Nothing here waits for longer.
        var limit = timeval(tv_sec: 300, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// - Returns: Whether all of it could be sent.
    @discardableResult
    func send(_ bytes: [UInt8]) async -> Bool {
        await withCheckedContinuation { continuation in
            Self.queue.async { [self] in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                    guard count > 0 else { return continuation.resume(returning: false) }
                    rest = rest.dropFirst(count)
                }
                continuation.resume(returning: true)
            }
        }
    }

    @discardableResult
    func send(_ text: String) async -> Bool { await send(Array(text.utf8)) }

    /// Says that nothing more comes, and still reads.
    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Breaks the connection once this object goes, instead of closing it in good order.
    func reset() {
        var choice = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &choice, socklen_t(MemoryLayout<linger>.size))
    }

    /// Everything until the other end closes.
    ///
    /// - Throws: If it does not within half a minute.
    func readToEnd() async throws -> String { String(decoding: try await read { _ in false }, as: UTF8.self) }

    /// Reads until the received bytes end with a text.
    func read(until end: String) async throws -> String {
        let end = Array(end.utf8)
        return String(decoding: try await read { $0.suffix(end.count) == end[...] }, as: UTF8.self)
    }

    private func read(_ isEnough: @escaping @Sendable ([UInt8]) -> Bool) async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            Self.queue.async { [self] in
                var bytes: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 1)
                while !isEnough(bytes) {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    // A connection that was reset has ended, too.
                    if count == 0 || count < 0 && errno == ECONNRESET { break }
                    guard count > 0 else { return continuation.resume(throwing: Failure(number: errno)) }
                    bytes += buffer.prefix(count)
                }
                continuation.resume(returning: bytes)
            }
        }
    }
}
