// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@testable import CloudService
import CloudWire
import Testing

/// Forms that cost a server more than the file in them is worth.
@Suite struct MultipartReaderTests {
    private static let part = Array("--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n\r\n".utf8)

    private static func read(_ pieces: [[UInt8]]) throws -> [UInt8] {
        var reader = try #require(try MultipartReader(contentType: "multipart/form-data; boundary=b"))
        var file: [UInt8] = []
        for piece in pieces { file += try reader.read(piece) }
        try reader.checkEnd()
        return file
    }

    @Test func endlessPartsAreRefused() throws {
        // The length of the value counts, too.
        let part = Self.part + Array(String(repeating: "v", count: 11_000).utf8)
        let pieces = Array(repeating: part, count: MultipartReader.partsMax - 1)
        #expect(throws: WireError.self) { try Self.read(pieces) }
        var reader = try #require(try MultipartReader(contentType: "multipart/form-data; boundary=b"))
        var accepted = 0
        for piece in pieces {
            guard (try? reader.read(piece)) != nil else { break }
            accepted += piece.count
        }
        #expect(accepted <= MultipartReader.otherBytesMax)
    }

    @Test func endlessPreambleIsRefused() throws {
        var reader = try #require(try MultipartReader(contentType: "multipart/form-data; boundary=b"))
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
        for _ in 0..<9 { #expect(try reader.read(piece) == []) }
        #expect(throws: WireError.self) {
            for _ in 0..<3 { _ = try reader.read(piece) }
        }
    }

    /// Heads are searched as bytes. As text, a search takes long if a head has many combining marks, and "filename" with a mark is another word.
    @Test func headsAreSearchedAsBytes() throws {
        let form = "--b\r\nContent-Disposition: form-data; filename\u{301}=\"a\"\r\n\r\nphoto\r\n--b--"
        #expect(try Self.read([Array(form.utf8)]) == Array("photo".utf8))
    }

    @Test func fileFollowsManyPartsInOnePiece() throws {
        let parts = Array(Array(repeating: Self.part, count: MultipartReader.partsMax - 1).joined())
        let file = Array("--b\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\nphoto\r\n--b--".utf8)
        #expect(try Self.read([parts + file]) == Array("photo".utf8))
        #expect(throws: WireError.self) { try Self.read([Self.part + parts + file]) }
    }
}
