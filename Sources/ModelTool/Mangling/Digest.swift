// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SystemSupport

/// The digest by which the compiler distinguishes private declarations of different files. It protects nothing.
///
/// Source: RFC 1321. Here rather than in a library, because the model compiler is built for every package that uses it
/// and has no dependencies.
enum Digest {
    /// What stands behind the name of a declaration that is private to a file.
    static func discriminator(module: String, file: String) -> String {
        let name = (file as NSString).lastPathComponent
        let digest = md5(Array((module + name).utf8))
        return "_" + Hex.text(digest, .upper)
    }

    private static let shifts: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]
    private static let sines = (0..<64).map { UInt32(abs(sin(Double($0 + 1))) * 4_294_967_296) }

    static func md5(_ message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        bytes += [UInt8](repeating: 0, count: (120 - bytes.count % 64) % 64)
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: (message.count * 8) >> ($0 * 8)) }
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
        for start in stride(from: 0, to: bytes.count, by: 64) { add(bytes[start..<(start + 64)], to: &state) }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
    }

    private static func add(_ block: ArraySlice<UInt8>, to state: inout [UInt32]) {
        let words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { start in
            (0..<4).reduce(UInt32(0)) { $0 | UInt32(block[start + $1]) << UInt32($1 * 8) }
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        for round in 0..<64 {
            let mixed: UInt32
            let word: Int
            switch round / 16 {
            case 0: (mixed, word) = ((b & c) | (~b & d), round)
            case 1: (mixed, word) = ((d & b) | (~d & c), (5 * round + 1) % 16)
            case 2: (mixed, word) = (b ^ c ^ d, (3 * round + 5) % 16)
            default: (mixed, word) = (c ^ (b | ~d), (7 * round) % 16)
            }
            let sum = a &+ mixed &+ sines[round] &+ words[word]
            let shift = shifts[round / 16 * 4 + round % 4]
            (a, d, c, b) = (d, c, b, b &+ (sum << shift | sum >> (32 - shift)))
        }
        state[0] &+= a
        state[1] &+= b
        state[2] &+= c
        state[3] &+= d
    }
}
