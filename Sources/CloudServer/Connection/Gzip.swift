// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CZlib
import CloudService

/// Which responses are compressed for clients that accept gzip, and how.
///
/// Responses with data of the service and static files are. These are not: bodies below ``bytesMin``, which compression makes
/// little smaller; files of assets, which have ranges and are compressed already, mostly; push streams, whose lines must not wait;
/// pages of the console and of sign-in. A page repeats what its address says beside the code of its forms, and the length of
/// a compressed page would tell both (BREACH). Requests of the service carry a token that no other page can add, so that no
/// other page can make a browser send them.
///
/// Source: RFC 9110, sections 8.4.1.3 and 12.5.3.
package enum Gzip {
    /// Bytes of the smallest body that is compressed.
    package static let bytesMin = 1400
    /// zlib's level: half the time of its default for a few percent more bytes.
    private static let level: Int32 = 4
    /// Clients refuse what becomes many times larger: the HTTP client of most Swift programs ends at 25 times.
    package static let ratioMax = 20

    private static let types = ["application/json", "text/javascript", "text/css", "image/svg+xml"]

    /// Whether the response to a path may be compressed, whatever the client accepts.
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

    /// At most ``ratioMax`` times smaller than the bytes.
    ///
    /// - Returns: Nil if compression fails or saves nothing.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        guard let small = compressed(bytes, Z_DEFAULT_STRATEGY) else { return nil }
        // Without repetitions a byte takes a bit at least.
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
