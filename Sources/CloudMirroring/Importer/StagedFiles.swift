// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Crypto
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore
import SystemSupport

/// The bodies of staged pages, and the contents of staged assets that are too large for the database: one file each, in a folder of the
/// store.
///
///     _STAGED/STORE/ZONE-page-NUMBER   the body of a page
///     _STAGED/STORE/ZONE-HASH          the content of an asset
///
/// Files and the rows of ``StagedPageTable`` have no common transaction: a missing body or content is fetched again, and a file without a
/// page is removed. An asset's file is complete under its name, and never changed: a large value of the store gets it by a link, without a copy. A
/// page's file is not flushed to the disk: its row has the digest.
struct StagedFiles: Sendable {
    /// The size from which a content is a file: smaller ones are values in rows, too.
    static let assetBytesMin = 128 * 1024

    private let folder: URL

    /// - Returns: nil for a store in memory.
    init?(_ store: SQLiteStore) {
        guard let url = store.url else { return nil }
        // Stores whose names differ in the extension alone share the support folder.
        folder = SQLiteStore.supportFolder(of: url).appendingPathComponent("_STAGED", isDirectory: true)
            .appendingPathComponent(url.lastPathComponent, isDirectory: true)
    }

    /// Names do not contain the checksum, which is a text of the server's.
    private func url(_ asset: AssetValue, _ zone: Int64) -> URL {
        let name = Hex.text(SHA256.hash(data: Data("\(asset.size) \(asset.fileChecksum)".utf8)))
        return folder.appendingPathComponent("\(zone)-\(name)")
    }

    private func createFolder() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    // MARK: Pages

    private func page(_ number: Int64, _ zone: Int64) -> URL { folder.appendingPathComponent("\(zone)-page-\(number)") }

    /// Writes the body of a page, in place of one that an earlier process left behind.
    ///
    /// - Returns: The SHA-256 digest of the body.
    /// - Throws: `POSIXError`; the page is not staged then.
    func add(_ body: [UInt8], page number: Int64, zone: Int64) throws -> [UInt8] {
        try createFolder()
        let path = page(number, zone).path
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try DurableFile.check(file)
        defer { close(file) }
        do {
            try body.withUnsafeBytes { try DurableFile.write($0, to: file) }
        } catch {
            unlink(path)
            throw error
        }
        return [UInt8](SHA256.hash(data: body))
    }

    /// - Returns: nil without a file that can be read, and for one with another content, as after a power cut. A new file may cure a damaged
    ///   place of the disk.
    func body(ofPage number: Int64, zone: Int64, digest: [UInt8]) -> [UInt8]? {
        guard let body = try? Data(contentsOf: page(number, zone)), SHA256.hash(data: body).elementsEqual(digest) else { return nil }
        return [UInt8](body)
    }

    // MARK: Assets

    /// - Throws: `POSIXError`; the content is not staged then.
    func add(_ content: Data, of asset: AssetValue, zone: Int64) throws {
        let file = url(asset, zone)
        if FileManager.default.fileExists(atPath: file.path) { return }
        try createFolder()
        let draft = file.path + "-new"
        unlink(draft)
        try DurableFile.create(draft, permissions: 0o600) { descriptor in
            try MappedFile.forEachPiece(of: content) { try DurableFile.write($0, to: descriptor) }
        }
        try DurableFile.check(rename(draft, file.path))
    }

    /// - Returns: nil if the content is not staged in a file.
    func content(of asset: AssetValue, zone: Int64) -> Data? {
        MappedFile.contents(of: url(asset, zone), isImmutable: true)
    }

    func contains(_ asset: AssetValue, zone: Int64) -> Bool { FileManager.default.fileExists(atPath: url(asset, zone).path) }

    // MARK: Removal

    /// The numbers of the zones with files.
    var zones: Set<Int64> { Set(names.map(\.zone)) }

    func remove(_ zone: Int64) {
        for name in names where name.zone == zone { unlink(folder.appendingPathComponent(name.file).path) }
    }

    func removeAll() { try? FileManager.default.removeItem(at: folder) }

    private var names: [(file: String, zone: Int64)] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.compactMap { file in file.split(separator: "-").first.flatMap { Int64($0) }.map { (file, $0) } }
    }
}
