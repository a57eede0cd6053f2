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
    /// Bytes of a form besides its file: other fields, heads and what stands before and after.
    static let otherBytesMax = 1_000_000

    /// Parts of a form up to its file: each costs more time than its bytes do.
    static let partsMax = 100

    private let delimiter: [UInt8]
    private var state = State.between
    /// Undecided bytes. The line before the first boundary counts as ended.
    private var rest = Array("\r\n".utf8)
    /// Bytes at the start of ``rest`` that are decided. They are removed once in each piece, since each removal moves all others.
    private var decided = 0
    private var otherBytes = 0
    private var partCount = 0

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
    /// - Throws: `WireError` with `.badRequest` for an invalid form, and one with too many bytes besides the file.
    mutating func read(_ piece: [UInt8]) throws(WireError) -> [UInt8] {
        guard state != .done else {
            try countOther(piece.count)
            return []
        }
        rest += piece
        defer {
            rest.removeFirst(decided)
            decided = 0
        }
        var file: [UInt8] = []
        while true {
            switch state {
            case .between:
                guard let place = find(delimiter) else {
                    try decide(upTo: max(decided, rest.count - delimiter.count + 1))
                    return file
                }
                try decide(upTo: place + delimiter.count)
                partCount += 1
                guard partCount <= Self.partsMax else {
                    throw WireError(.badRequest, "the form has more than \(Self.partsMax) parts before its file")
                }
                state = .head
            case .head:
                if rest[decided...].starts(with: Self.closing) { throw Self.unreadable }
                guard let end = find(Self.emptyLine) else {
                    guard rest.count - decided <= Self.headBytesMax else { throw Self.unreadable }
                    return file
                }
                guard end - decided <= Self.headBytesMax else { throw Self.unreadable }
                // As bytes: a search in text takes long if it has many combining marks.
                let head = Array(String(decoding: rest[decided..<end], as: UTF8.self).lowercased().utf8)
                // The empty line's end may be the beginning of the next boundary.
                try decide(upTo: end + 2)
                state = head.contains(Self.fileName) || !head.contains(Self.disposition) ? .file : .between
                if state == .file { try decide(upTo: decided + 2) }
            case .file:
                guard let place = find(delimiter) else {
                    let end = max(decided, rest.count - delimiter.count + 1)
                    file += rest[decided..<end]
                    decided = end
                    return file
                }
                file += rest[decided..<place]
                decided = rest.count
                state = .done
            case .done: return file
            }
        }
    }

    private static let closing = Array("--".utf8)
    private static let fileName = Array("filename".utf8)
    private static let disposition = Array("content-disposition".utf8)
    private static let emptyLine = Array("\r\n\r\n".utf8)

    private mutating func decide(upTo end: Int) throws(WireError) {
        try countOther(end - decided)
        decided = end
    }

    private mutating func countOther(_ bytes: Int) throws(WireError) {
        otherBytes += bytes
        guard otherBytes <= Self.otherBytesMax else { throw Self.unreadable }
    }

    /// - Throws: `WireError` with `.badRequest` if the form ended within the file, or has none.
    func checkEnd() throws(WireError) {
        guard state == .done else { throw Self.unreadable }
    }

    private func find(_ wanted: [UInt8]) -> Int? {
        guard rest.count - decided >= wanted.count else { return nil }
        return rest.withUnsafeBufferPointer { bytes in
            wanted.withUnsafeBufferPointer { wanted in
                (decided...bytes.count - wanted.count).first { start in
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

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
            guard let piece = try await pieces.next(isolation: actor) else {
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
