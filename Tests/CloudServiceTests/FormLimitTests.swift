// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@testable import CloudService

/// Forms with a file, from clients that want to keep the server busy.
@Suite struct FormLimitTests {
    private static func reader() throws -> MultipartReader {
        try #require(try MultipartReader(contentType: "multipart/form-data; boundary=x"))
    }

    private static let file = Array("--x\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\nbytes\r\n--x--".utf8)

    @Test(arguments: [1, 2, 7, 1000]) func aFormIsReadInPiecesOfAnySize(_ size: Int) throws {
        var reader = try Self.reader()
        let field = Array("--x\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\nvalue\r\n".utf8)
        let form = field + field + Self.file
        var file: [UInt8] = []
        for start in stride(from: 0, to: form.count, by: size) {
            file += try reader.read(Array(form[start..<min(start + size, form.count)]))
        }
        try reader.checkEnd()
        #expect(file == Array("bytes".utf8))
    }

    /// 20,000 of the smallest parts are within the bytes of a form, and would take as much time as a page of records.
    @Test func manyPartsAreRefused() throws {
        let part = Array("--x\r\nContent-Disposition:\r\n\r\n\r\n".utf8)
        var reader = try Self.reader()
        let error = #expect(throws: WireError.self) { try reader.read(Array(Array(repeating: part, count: 20_000).joined()) + Self.file) }
        #expect(error?.reason == "the form has more than 100 parts before its file")
    }

    @Test func partsThatAreNotFilesHaveALimit() throws {
        let piece = [UInt8](repeating: 0x61, count: 100_000)
        // Before the first part.
        var reader = try Self.reader()
        #expect(throws: WireError.self) { for _ in 0..<20 { _ = try reader.read(piece) } }
        // After the file.
        reader = try Self.reader()
        _ = try reader.read(Self.file)
        #expect(throws: WireError.self) { for _ in 0..<20 { _ = try reader.read(piece) } }
        // A head without an end.
        reader = try Self.reader()
        #expect(throws: WireError.self) { _ = try reader.read(Array("--x\r\n".utf8) + piece) }
    }
}
