// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A QR code of a short text: versions 1 to 6, error correction M, byte mode.
///
/// Source: ISO/IEC 18004:2015, *QR Code bar code symbology specification*.
struct QRCode: Equatable, Sendable {
    /// Blocks, data bytes of each, and error correction bytes of each, for versions 1 to 6 at level M (table 9).
    private static let layouts = [(1, 16, 10), (1, 28, 16), (1, 44, 26), (2, 32, 18), (2, 43, 24), (4, 27, 16)]

    /// Modules of a side, without the quiet zone.
    let size: Int
    /// Row by row; `true` is dark.
    private(set) var modules: [Bool]
    /// Finder, alignment and timing patterns and the format: the mask leaves them as they are.
    private var isFunction: [Bool]

    /// - Parameter mask: 0 to 7; nil for the one with the lowest penalty.
    /// - Returns: nil for a text above 106 bytes.
    init?(_ text: String, mask: Int? = nil) {
        let bytes = Array(text.utf8)
        guard let index = Self.layouts.firstIndex(where: { $0.0 * $0.1 >= bytes.count + 2 }) else { return nil }
        self.init(version: index + 1)
        place(Self.codewords(of: bytes, version: index + 1))
        if let mask {
            apply(mask)
            return
        }
        let candidates = (0..<8).map { number in
            var candidate = self
            candidate.apply(number)
            return candidate
        }
        // `min` returns the first of equal ones.
        guard let best = candidates.min(by: { $0.penalty < $1.penalty }) else { return nil }
        self = best
    }

    // MARK: Bytes

    /// The bytes of the symbol: data of all blocks interleaved, then their error correction.
    static func codewords(of text: [UInt8], version: Int) -> [UInt8] {
        let (blockCount, blockBytes, correctionBytes) = layouts[version - 1]
        let data = data(of: text, count: blockCount * blockBytes)
        let blocks = (0..<blockCount).map { Array(data[$0 * blockBytes..<($0 + 1) * blockBytes]) }
        let corrections = blocks.map { ReedSolomon.remainder(of: $0, count: correctionBytes) }
        return (0..<blockBytes).flatMap { index in blocks.map { $0[index] } }
            + (0..<correctionBytes).flatMap { index in corrections.map { $0[index] } }
    }

    /// Byte mode (0100), eight bits of length, the text, four zeros, and padding.
    private static func data(of text: [UInt8], count: Int) -> [UInt8] {
        let halves: [UInt8] = [4, UInt8(text.count >> 4), UInt8(text.count & 15)] + text.flatMap { [$0 >> 4, $0 & 15] } + [0]
        var data = stride(from: 0, to: halves.count, by: 2).map { halves[$0] << 4 | halves[$0 + 1] }
        var padding: UInt8 = 0xEC
        while data.count < count {
            data.append(padding)
            padding ^= 0xEC ^ 0x11
        }
        return data
    }

    // MARK: Modules

    subscript(row: Int, column: Int) -> Bool { modules[row * size + column] }

    private init(version: Int) {
        size = 17 + 4 * version
        modules = Array(repeating: false, count: size * size)
        isFunction = modules
        for index in 0..<size {
            set(6, index, index.isMultiple(of: 2))
            set(index, 6, index.isMultiple(of: 2))
        }
        for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] { drawSquares(row, column, radius: 4) { $0 != 2 && $0 != 4 } }
        if version > 1 { drawSquares(size - 7, size - 7, radius: 2) { $0 != 1 } }
        drawFormat(mask: 0)
    }

    private mutating func set(_ row: Int, _ column: Int, _ isDark: Bool) {
        modules[row * size + column] = isDark
        isFunction[row * size + column] = true
    }

    private mutating func drawSquares(_ row: Int, _ column: Int, radius: Int, isDark: (Int) -> Bool) {
        for down in -radius...radius {
            for right in -radius...radius where 0..<size ~= row + down && 0..<size ~= column + right {
                set(row + down, column + right, isDark(max(abs(down), abs(right))))
            }
        }
    }

    /// Level M is 00; ten bits of a BCH code follow the mask's three.
    static func format(mask: Int) -> Int {
        var remainder = mask
        for _ in 0..<10 { remainder = remainder << 1 ^ (remainder >> 9) * 0x537 }
        return (mask << 10 | remainder) ^ 0x5412
    }

    private mutating func drawFormat(mask: Int) {
        let format = Self.format(mask: mask)
        for bit in 0..<15 {
            let isDark = format >> bit & 1 == 1
            switch bit {
            case 0..<6: set(bit, 8, isDark)
            case 6, 7: set(bit + 1, 8, isDark)
            case 8: set(8, 7, isDark)
            default: set(8, 14 - bit, isDark)
            }
            if bit < 8 { set(8, size - 1 - bit, isDark) } else { set(size - 15 + bit, 8, isDark) }
        }
        set(size - 8, 8, true)
    }

    /// Two columns at a time from the right, upwards first, around the vertical timing pattern.
    private mutating func place(_ bytes: [UInt8]) {
        var bit = 0
        for (turn, right) in stride(from: size - 1, to: 0, by: -2).map({ $0 <= 6 ? $0 - 1 : $0 }).enumerated() {
            for step in 0..<size {
                let row = turn.isMultiple(of: 2) ? size - 1 - step : step
                for column in [right, right - 1] where !isFunction[row * size + column] && bit < bytes.count * 8 {
                    modules[row * size + column] = bytes[bit / 8] >> (7 - bit % 8) & 1 == 1
                    bit += 1
                }
            }
        }
    }

    private mutating func apply(_ mask: Int) {
        drawFormat(mask: mask)
        for row in 0..<size {
            for column in 0..<size where !isFunction[row * size + column] && Self.isMasked(row, column, mask) {
                modules[row * size + column].toggle()
            }
        }
    }

    private static func isMasked(_ row: Int, _ column: Int, _ mask: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }
}

/// Reed-Solomon codes over the field of 256 elements with the polynomial 0x11D.
enum ReedSolomon {
    /// The error correction bytes of a block.
    static func remainder(of data: [UInt8], count: Int) -> [UInt8] {
        var generator = [UInt8](repeating: 0, count: count - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<count {
            for index in 0..<count { generator[index] = product(generator[index], root) ^ (index + 1 < count ? generator[index + 1] : 0) }
            root = product(root, 2)
        }
        var result = [UInt8](repeating: 0, count: count)
        for byte in data {
            let factor = byte ^ result.removeFirst()
            result.append(0)
            for index in 0..<count { result[index] ^= product(generator[index], factor) }
        }
        return result
    }

    private static func product(_ first: UInt8, _ second: UInt8) -> UInt8 {
        var result = 0
        for bit in (0..<8).reversed() { result = result << 1 ^ (result >> 7) * 0x11D ^ (Int(second) >> bit & 1) * Int(first) }
        return UInt8(result)
    }
}
