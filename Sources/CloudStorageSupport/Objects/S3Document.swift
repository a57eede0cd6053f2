// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The elements of an XML document of S3, in document order, each with the path of its names and its text.
///
/// Reads the subset that S3 writes: elements and text. Attributes, comments and declarations are skipped; documents with entities of their
/// own do not occur, and their references stay as text. The client bounds the size of a document before it is read.
package struct S3Document: Sendable {
    package struct Element: Hashable, Sendable {
        /// `ListBucketResult/Contents/Key`.
        package var path: String
        package var text: String
        /// The ordinal of the child of the outermost element that it is, or is in.
        var item: Int
    }

    private static let depthMax = 16

    /// Elements without children.
    package let leaves: [Element]
    /// The name of the outermost element; empty without one.
    package let root: String

    /// Text that is not XML has fewer elements, or none.
    package init(_ bytes: [UInt8]) {
        var leaves: [Element] = []
        var names: [String] = []
        var root = ""
        var item = 0
        // Where the text of the innermost element begins; nil if it has children.
        var textStart: Int?
        var place = 0
        while let open = bytes[place...].firstIndex(of: UInt8(ascii: "<")), let close = bytes[open...].firstIndex(of: UInt8(ascii: ">")) {
            let tag = bytes[(open + 1)..<close]
            place = close + 1
            switch tag.first {
            case UInt8(ascii: "?"), UInt8(ascii: "!"), nil: continue
            case UInt8(ascii: "/"):
                guard let name = names.last, Array(name.utf8) == Array(tag.dropFirst()) else { break }
                if let start = textStart {
                    leaves.append(Element(path: names.joined(separator: "/"), text: Self.text(bytes[start..<open]), item: item))
                }
                names.removeLast()
                textStart = nil
                continue
            default:
                let isEmpty = tag.last == UInt8(ascii: "/")
                let name = String(
                    decoding: tag.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "/") }, as: UTF8.self)
                if names.isEmpty, root.isEmpty { root = name }
                guard names.count < Self.depthMax else { break }
                if names.count == 1 { item += 1 }
                if isEmpty {
                    leaves.append(Element(path: (names + [name]).joined(separator: "/"), text: "", item: item))
                    textStart = nil
                } else {
                    names.append(name)
                    textStart = place
                }
                continue
            }
            break
        }
        self.leaves = leaves
        self.root = root
    }

    package func text(_ path: String) -> String? { leaves.first { $0.path == path }?.text }

    /// The texts of repeated children of the outermost element, one dictionary for each.
    package func items(_ path: String) -> [[String: String]] {
        var items: [[String: String]] = []
        var last: Int?
        for leaf in leaves where leaf.path.hasPrefix("\(path)/") {
            if leaf.item != last { items.append([:]) }
            last = leaf.item
            items[items.count - 1][String(leaf.path.dropFirst(path.count + 1))] = leaf.text
        }
        return items
    }

    private static let entities: [String: String] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "#34": "\"", "#39": "'"]

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.contains("&") else { return text }
        return text.replacing(/&([a-z#0-9]+);/) { entities[String($0.1)] ?? String($0.0) }
    }
}
