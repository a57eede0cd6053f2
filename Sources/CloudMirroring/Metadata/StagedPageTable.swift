// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import SQLiteStore

/// Change pages of a zone that have arrived and aren't applied yet, with the contents of their assets.
///
/// A change feed is consistent only at its end: a record that changed twice moves behind the records it was saved with first. So the
/// pages wait here until the last one has arrived, also if the process ends in between, and one transaction applies them all.
///
///     TARN_STAGEDPAGE   zone, number      the token it was requested with, its own token, and the digest of the file with the body; or
///                                         the body, where files cannot be written
///     TARN_STAGEDASSET  zone, asset, part contents in parts of at most ``partBytes`` bytes, below ``StagedFiles/assetBytesMin`` or
///                                         where files cannot be written
enum StagedPageTable {
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS TARN_STAGEDPAGE (zone INTEGER NOT NULL, number INTEGER NOT NULL, asked TEXT, token TEXT NOT NULL, \
        generation INTEGER, deletes INTEGER NOT NULL, form INTEGER NOT NULL, digest BLOB, body BLOB, PRIMARY KEY (zone, number))
        """,
        """
        CREATE TABLE IF NOT EXISTS TARN_STAGEDASSET (zone INTEGER NOT NULL, asset TEXT NOT NULL, part INTEGER NOT NULL, \
        content BLOB NOT NULL, PRIMARY KEY (zone, asset, part))
        """,
    ]

    private static let partBytes = 1_000_000

    struct Page: Sendable {
        /// The token the page was requested with; nil at the beginning of a zone.
        var askedWith: String?
        var token: String
        /// The number of the full fetch that the page belongs to, if it does.
        var generation: Int64?
        var hasDeletions: Bool
        var form: Form
        var body: Body
    }

    /// What the body of a page is.
    enum Form: Int64, Sendable {
        /// A `ZoneChangesResponse` with one zone that this device encoded. Values of its records are decrypted.
        case decrypted = 0
        /// A `ZoneChangesResult` of the server. It may be anything that the server sent.
        case arrived = 1
    }

    /// Where the body of a page is.
    enum Body: Sendable {
        /// In one of ``StagedFiles``.
        case file(digest: [UInt8])
        case row([UInt8])
    }

    /// The staged pages of a zone, without bodies.
    struct Summary: Sendable {
        var askedWith: String?
        var generation: Int64?
        /// The token of the last page.
        var token: String
        var count: Int64
        var hasDeletions: Bool
    }

    /// Drops the tables of formats before ``SyncMetadataFormat/arrivedPages``. Their pages are fetched again.
    static func dropEarlier(_ writer: StoreWriter) throws {
        for table in ["TARN_STAGEDPAGE", "TARN_STAGEDASSET"] { try writer.execute("DROP TABLE IF EXISTS \(table)") }
    }

    static func summary(_ zone: Int64, _ reader: StoreReader) throws -> Summary? {
        var summary: Summary?
        try reader.query("SELECT asked, generation, token, deletes FROM TARN_STAGEDPAGE WHERE zone = ? ORDER BY number", [.int(zone)]) {
            row in
            var total = summary ?? Summary(askedWith: row.text(0), generation: row.optionalInt(1), token: "", count: 0, hasDeletions: false)
            total.token = row.text(2) ?? ""
            total.count += 1
            total.hasDeletions = total.hasDeletions || row.int(3) == 1
            summary = total
        }
        return summary
    }

    static func hasPages(of zone: Int64, _ reader: StoreReader) throws -> Bool {
        var exists = false
        try reader.query("SELECT 1 FROM TARN_STAGEDPAGE WHERE zone = ? LIMIT 1", [.int(zone)]) { _ in exists = true }
        return exists
    }

    static func append(_ page: Page, number: Int64, zone: Int64, _ writer: StoreWriter) throws {
        let (digest, body): (SQLValue, SQLValue) =
            switch page.body {
            case .file(let digest): (.blob(Data(digest)), .null)
            case .row(let body): (.null, .blob(Data(body)))
            }
        try writer.execute(
            """
            INSERT INTO TARN_STAGEDPAGE (zone, number, asked, token, generation, deletes, form, digest, body) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .int(zone), .int(number), page.askedWith.map { .text($0) } ?? .null, .text(page.token),
                page.generation.map { .int($0) } ?? .null,
                .int(page.hasDeletions ? 1 : 0), .int(page.form.rawValue), digest, body,
            ])
    }

    static func append(_ content: Data, of asset: AssetValue, zone: Int64, _ writer: StoreWriter) throws {
        // An empty asset has one empty part.
        for (part, start) in stride(from: 0, to: max(content.count, 1), by: partBytes).enumerated() {
            let first = content.startIndex + start
            let piece = content[first..<min(first + partBytes, content.endIndex)]
            try writer.execute(
                "INSERT OR REPLACE INTO TARN_STAGEDASSET (zone, asset, part, content) VALUES (?, ?, ?, ?)",
                [.int(zone), .text(name(of: asset)), .int(Int64(part)), .blob(Data(piece))])
        }
    }

    static func page(_ number: Int64, zone: Int64, _ reader: StoreReader) throws -> Page? {
        var page: Page?
        try reader.query(
            "SELECT asked, token, generation, deletes, digest, body, form FROM TARN_STAGEDPAGE WHERE zone = ? AND number = ?",
            [.int(zone), .int(number)]
        ) { row in
            let body = row.blob(4).map { Body.file(digest: [UInt8]($0)) } ?? row.blob(5).map { Body.row([UInt8]($0)) }
            guard let token = row.text(1), let body, let form = Form(rawValue: row.int(6)) else { return }
            page = Page(
                askedWith: row.text(0), token: token, generation: row.optionalInt(2), hasDeletions: row.int(3) == 1, form: form, body: body)
        }
        return page
    }

    static func isStaged(_ asset: AssetValue, zone: Int64, _ reader: StoreReader) throws -> Bool {
        var isStaged = false
        try reader.query("SELECT 1 FROM TARN_STAGEDASSET WHERE zone = ? AND asset = ? LIMIT 1", [.int(zone), .text(name(of: asset))]) { _ in
            isStaged = true
        }
        return isStaged
    }

    /// The content of an asset; a large one is mapped from a temporary file, not held in memory.
    static func content(of asset: AssetValue, zone: Int64, _ reader: StoreReader) throws -> Data? {
        let sql = "SELECT content FROM TARN_STAGEDASSET WHERE zone = ? AND asset = ? ORDER BY part"
        let arguments: [SQLValue] = [.int(zone), .text(name(of: asset))]
        guard asset.size >= SyncDatabase.mappedBytesMin else {
            var content: Data?
            try reader.query(sql, arguments) { content = (content ?? Data()) + ($0.blob(0) ?? Data()) }
            return content
        }
        let file = try AssetFile(hasName: false)
        var isStaged = false
        try reader.query(sql, arguments) { row in
            isStaged = true
            try file.write(row.blob(0) ?? Data())
        }
        let content = try isStaged ? file.mapped() : nil
        try file.close()
        return content
    }

    /// Removes one page, so that later writes of the transaction reuse its space in the file.
    static func removePage(_ number: Int64, zone: Int64, _ writer: StoreWriter) throws {
        try writer.execute("DELETE FROM TARN_STAGEDPAGE WHERE zone = ? AND number = ?", [.int(zone), .int(number)])
    }

    static func remove(_ zone: Int64, _ writer: StoreWriter) throws {
        for table in ["TARN_STAGEDPAGE", "TARN_STAGEDASSET"] { try writer.execute("DELETE FROM \(table) WHERE zone = ?", [.int(zone)]) }
    }

    static func removeAll(_ writer: StoreWriter) throws {
        for table in ["TARN_STAGEDPAGE", "TARN_STAGEDASSET"] { try writer.execute("DELETE FROM \(table)") }
    }

    /// Equal for equal contents.
    private static func name(of asset: AssetValue) -> String { "\(asset.size) \(asset.fileChecksum)" }
}
