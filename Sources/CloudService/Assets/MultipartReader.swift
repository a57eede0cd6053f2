// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Takes the file out of a form (`multipart/form-data`), in which some clients send it: the first part that has a file name.
/// It holds no more of the form than a part's head, or a boundary.
///
/// Source: RFC 7578; RFC 2046, section 5.1.
struct MultipartReader: Sendable {
    private enum State {
        /// Before the first part, or in a part without a file.
        case between
        case head
        case file
        case done
    }

    static let headBytesMax = 16_384
    /// Bytes of a form before its file: other parts, and text before the first part.
    static let otherBytesMax = 1_000_000

    private let delimiter: [UInt8]
    private var state = State.between
    private var otherBytes = 0
    /// Undecided bytes. The line before the first boundary counts as ended.
    private var rest = Array("\r\n".utf8)

    /// - Returns: Nil for another type.
    /// - Throws: `WireError` with `.badRequest` for a form without a boundary.
    init?(contentType: String) throws(WireError) {
        let parts = contentType.split(separator: ";").map { $0.trimmingPrefix { $0 == " " } }
        guard parts.first?.lowercased() == "multipart/form-data" else { return nil }
        let name = "boundary="
        guard let part = parts.first(where: { $0.prefix(name.count).lowercased() == name }) else { throw Self.unreadable }
        var boundary = part.dropFirst(name.count)
        while boundary.last == " " { boundary.removeLast() }
        if boundary.count > 1, boundary.first == "\"", boundary.last == "\"" { boundary = boundary.dropFirst().dropLast() }
        guard (1...70).contains(boundary.utf8.count) else { throw Self.unreadable }
        delimiter = Array("\r\n--\(boundary)".utf8)
    }

    private static let unreadable = WireError(.badRequest, "the form with the file is unreadable")

    /// - Returns: The bytes of the file in a piece of the form.
    /// - Throws: `WireError` with `.badRequest` for an invalid form, and for one with too many bytes before its file.
    mutating func read(_ piece: [UInt8]) throws(WireError) -> [UInt8] {
        guard state != .done else { return [] }
        rest += piece
        // Each byte is moved once, however many parts are in a piece.
        var start = 0
        defer { rest.removeFirst(min(start, rest.count)) }
        var file: [UInt8] = []
        while true {
            let before = start
            switch state {
            case .between:
                if let place = Self.find(delimiter, in: rest, from: start) {
                    start = place + delimiter.count
                    state = .head
                } else {
                    start = max(start, rest.count - delimiter.count + 1)
                }
                otherBytes += start - before
                guard otherBytes <= Self.otherBytesMax else { throw Self.unreadable }
                if state == .between { return file }
            case .head:
                if rest[start...].starts(with: Self.lastBoundary) { throw Self.unreadable }
                guard let end = Self.find(Self.emptyLine, in: rest, from: start) else {
                    guard rest.count - start <= Self.headBytesMax else { throw Self.unreadable }
                    return file
                }
                guard end - start <= Self.headBytesMax else { throw Self.unreadable }
                let head = String(decoding: rest[start..<end], as: UTF8.self).lowercased()
                // The empty line's end may be the beginning of the next boundary.
                start = end + 2
                otherBytes += start - before
                state = head.contains("filename") || !head.contains("content-disposition") ? .file : .between
                if state == .file { start += 2 }
            case .file:
                guard let place = Self.find(delimiter, in: rest, from: start) else {
                    let decided = max(start, rest.count - delimiter.count + 1)
                    file += rest[start..<decided]
                    start = decided
                    return file
                }
                file += rest[start..<place]
                start = rest.count
                state = .done
            case .done: return file
            }
        }
    }

    /// - Throws: `WireError` with `.badRequest` if the form ended within the file, or has none.
    func checkEnd() throws(WireError) {
        guard state == .done else { throw Self.unreadable }
    }

    private static let lastBoundary = Array("--".utf8)
    private static let emptyLine = Array("\r\n\r\n".utf8)

    private static func find(_ wanted: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count - start >= wanted.count else { return nil }
        return bytes.withUnsafeBufferPointer { bytes in
            wanted.withUnsafeBufferPointer { wanted in
                (start...bytes.count - wanted.count).first { start in
                    bytes[start] == wanted[0] && bytes[start..<start + wanted.count].elementsEqual(wanted)
                }
            }
        }
    }
}

/// The bytes of the file in a form, as the form arrives.
struct FileInForm: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    struct Iterator: AsyncIteratorProtocol {
        var pieces: any AsyncIteratorProtocol<[UInt8], any Error>
        var reader: MultipartReader

        mutating func next() async throws -> [UInt8]? {
            guard let piece = try await pieces.next() else {
                try reader.checkEnd()
                return nil
            }
            return try reader.read(piece)
        }
    }

    let pieces: any AsyncSequence<[UInt8], any Error> & Sendable
    let reader: MultipartReader

    func makeAsyncIterator() -> Iterator { Iterator(pieces: Self.iterator(of: pieces), reader: reader) }

    private static func iterator(of pieces: some AsyncSequence<[UInt8], any Error>) -> any AsyncIteratorProtocol<[UInt8], any Error> {
        pieces.makeAsyncIterator()
    }
}
