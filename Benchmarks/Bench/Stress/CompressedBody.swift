// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CZlib

/// A body in gzip format that is a thousand times larger once it is decompressed.
enum CompressedBody {
    /// A gzip member of spaces, which any JSON decoder would skip.
    static func spaces(megabytes: Int) -> [UInt8] {
        var stream = z_stream()
        guard tarn_deflate_init_gzip(&stream, 9, Z_DEFAULT_STRATEGY) == Z_OK else { return [] }
        defer { deflateEnd(&stream) }
        var piece = [UInt8](repeating: UInt8(ascii: " "), count: 1_000_000), output = [UInt8](repeating: 0, count: 1 << 16)
        var compressed: [UInt8] = []
        for number in 1...megabytes {
            piece.withUnsafeMutableBufferPointer { piece in
                stream.next_in = piece.baseAddress
                stream.avail_in = UInt32(piece.count)
                var isDone = false
                while !isDone {
                    output.withUnsafeMutableBufferPointer { output in
                        stream.next_out = output.baseAddress
                        stream.avail_out = UInt32(output.count)
                        _ = deflate(&stream, number == megabytes ? Z_FINISH : Z_NO_FLUSH)
                        compressed += output.prefix(output.count - Int(stream.avail_out))
                        isDone = stream.avail_out > 0
                    }
                }
            }
        }
        return compressed
    }
}
