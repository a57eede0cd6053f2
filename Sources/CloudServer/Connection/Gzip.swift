// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CZlib
import CloudService
import Dispatch
import Synchronization

/// Compression of responses for clients that accept gzip.
///
/// The server compresses JSON of the service and static files. It doesn't compress:
///
/// - bodies below ``bytesMin``, which hardly shrink;
/// - assets, which have ranges and are mostly compressed already;
/// - push streams, which must be flushed line by line;
/// - pages of the console and of sign-in: a page reflects parts of its URL and contains a CSRF token, so the length of the
///   compressed page would leak the token (BREACH). Requests to the service carry a token that another origin cannot add.
///
/// Source: RFC 9110, sections 8.4.1.3 and 12.5.3.
package enum Gzip {
    /// Bytes of the smallest body that is compressed.
    package static let bytesMin = 1400
    /// zlib's level: half the time of the default level for a few percent more bytes.
    private static let level: Int32 = 4
    /// The highest ratio of plain to compressed bytes. Clients reject higher ones as decompression bombs: AsyncHTTPClient at 25.
    package static let ratioMax = 20

    private static let types = ["application/json", "text/javascript", "text/css", "image/svg+xml"]

    /// Returns `true` if the response may be compressed for a client that accepts it.
    static func applies(to response: ServiceResponse, path: String) -> Bool {
        guard case .bytes(let bytes) = response.body, bytes.count >= bytesMin, !path.hasPrefix("/console/"),
            !response.headers.contains(where: { ["content-encoding", "content-range"].contains($0.name.lowercased()) }),
            let type = response.headers.first(where: { $0.name.lowercased() == "content-type" })?.value
        else { return false }
        return types.contains { type == $0 || type.hasPrefix($0 + ";") }
    }

    /// - Parameter header: `Accept-Encoding`; nil accepts nothing.
    package static func isAccepted(_ header: String?) -> Bool {
        guard let header else { return false }
        var any: Bool?
        for item in header.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = item.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map { part in
                String(decoding: part.filter { $0 != UInt8(ascii: " ") && $0 != 9 }, as: UTF8.self).lowercased()
            }
            // `q=0`, `q=0.000`: not accepted.
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double(String($0.dropFirst(2))) ?? 0 } ?? 1
            switch parts.first {
            case "gzip", "x-gzip": return weight > 0
            case "*": any = weight > 0
            default: break
            }
        }
        return any ?? false
    }

    /// Bytes of the longest body that is compressed on the event loop, which takes a millisecond.
    private static let bytesOnTheLoop = 65_536

    /// One for the process: compression takes one processor at most.
    private static let queue = DispatchQueue(label: "tarn.compression", qos: .userInitiated)

    /// Bodies that are compressed or wait for it.
    private static let inFlight = Atomic(0)
    private static let inFlightMax = 4

    /// Compresses long bodies on a thread of its own, so that other connections of the loop do not wait.
    ///
    /// - Returns: Nil also if several bodies wait already: to send one as it is takes less time.
    static func compressedOffTheLoop(_ bytes: [UInt8]) async -> [UInt8]? {
        if bytes.count <= bytesOnTheLoop { return compressed(bytes) }
        defer { inFlight.subtract(1, ordering: .relaxed) }
        guard inFlight.add(1, ordering: .relaxed).newValue <= inFlightMax else { return nil }
        return await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: compressed(bytes)) }
        }
    }

    /// Returns the bytes in gzip format, at most ``ratioMax`` times smaller.
    ///
    /// - Returns: Nil if compression fails or saves nothing.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        guard let small = compressed(bytes, Z_DEFAULT_STRATEGY) else { return nil }
        // Huffman coding alone, without matches, needs at least one bit per byte: the ratio is at most 8.
        return small.count * ratioMax >= bytes.count ? small : compressed(bytes, Z_HUFFMAN_ONLY)
    }

    private static func compressed(_ bytes: [UInt8], _ strategy: Int32) -> [UInt8]? {
        var stream = z_stream()
        guard bytes.count < Int(UInt32.max / 2), tarn_deflate_init_gzip(&stream, level, strategy) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var isComplete = false
        var input = bytes
        let output = [UInt8](unsafeUninitializedCapacity: Int(deflateBound(&stream, UInt(bytes.count)))) { buffer, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = buffer.baseAddress
                stream.avail_out = UInt32(buffer.count)
                isComplete = deflate(&stream, Z_FINISH) == Z_STREAM_END
                count = buffer.count - Int(stream.avail_out)
            }
        }
        return isComplete && output.count < bytes.count ? output : nil
    }
}
