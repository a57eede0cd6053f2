// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// An error in a JSON text, with its byte offset.
package struct JSONFault: Error {
    package let what: StaticString
    package let offset: Int

    package init(_ what: StaticString, at offset: Int) {
        self.what = what
        self.offset = offset
    }

    /// Creates the error for the sender of the text. The key path is computed here, so that valid texts do not pay for
    /// it.
    package func wireError(in json: [UInt8]) -> WireError {
        let path = JSONFault.path(to: offset, in: json)
        let place = path.isEmpty ? "at byte \(offset)" : "at \(path) (byte \(offset))"
        return WireError(.badRequest, "\(what), \(place)")
    }

    private enum Frame {
        case object(key: Range<Int>?)
        case array(index: Int)
    }

    /// Maximum number of bytes of a key, and of steps of the path, in the error.
    private static let keyBytesShown = 64
    private static let stepsShown = JSONReader.depthMax

    /// The keys and positions that lead to a byte, such as `operations[2].record.fields.title`. The text before the
    /// byte may be invalid.
    static func path(to offset: Int, in json: [UInt8]) -> String {
        var frames: [Frame] = []
        var awaitsKey = false
        var index = 0
        let end = min(offset, json.count)
        while index < end {
            switch json[index] {
            case UInt8(ascii: "{"):
                frames.append(.object(key: nil))
                awaitsKey = true
            case UInt8(ascii: "["):
                frames.append(.array(index: 0))
                awaitsKey = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = frames.popLast()
                awaitsKey = false
            case UInt8(ascii: ","):
                switch frames.last {
                case .object:
                    frames[frames.count - 1] = .object(key: nil)
                    awaitsKey = true
                case .array(let position):
                    frames[frames.count - 1] = .array(index: position + 1)
                case nil: break
                }
            case UInt8(ascii: "\""):
                let start = index + 1
                index = start
                while index < end, json[index] != UInt8(ascii: "\"") {
                    index += json[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                if awaitsKey, index < end, !frames.isEmpty {
                    frames[frames.count - 1] = .object(key: start..<index)
                    awaitsKey = false
                }
            default: break
            }
            index += 1
        }
        var path = ""
        for frame in frames.prefix(stepsShown) {
            switch frame {
            case .object(nil): break
            case .object(let key?):
                if !path.isEmpty { path += "." }
                path += String(decoding: json[key].prefix(keyBytesShown), as: UTF8.self)
            case .array(let position): path += "[\(position)]"
            }
        }
        return path
    }
}
