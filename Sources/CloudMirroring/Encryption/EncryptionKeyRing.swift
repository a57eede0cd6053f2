// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation
import MirroringCore
import Synchronization

/// The keys of one container: read when they are needed, made when something is sealed first, read again when a key is
/// wanted that is not there.
final class EncryptionKeyRing: Sendable {
    /// What a sealed value says of its key: the beginning of a hash.
    struct KeyID: Hashable, Sendable {
        static let byteCount = 8
        let bytes: [UInt8]
    }

    private struct Entry {
        let id: KeyID
        let key: SymmetricKey
    }

    private struct State {
        var entries: [Entry] = []
        var isRead = false
    }

    /// nil for keys that were given.
    private let url: URL?
    private let given: [EncryptionKey]
    private let state = Mutex(State())

    init(_ keys: NSPersistentCloudKitContainerOptions.EncryptionKeys, container: String) {
        switch keys.place {
        case .given(let keys): (url, given) = (nil, keys)
        case .file(let url): (self.url, given) = (url ?? Self.defaultURL(container), [])
        }
    }

    /// Source: *XDG Base Directory Specification*.
    private static func defaultURL(_ container: String) -> URL {
        let environment = ProcessInfo.processInfo.environment
        let folder: URL =
            if let configured = environment["XDG_CONFIG_HOME"], configured.hasPrefix("/") {
                URL(fileURLWithPath: configured)
            } else {
                FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".config")
            }
        return folder.appendingPathComponent("tarn/keys/\(container).keys")
    }

    // MARK: Using keys

    /// The key that seals. It is made if there is none.
    func sealingKey() throws -> (id: KeyID, key: SymmetricKey) {
        try state.withLock { state in
            if !state.isRead { try read(&state) }
            if state.entries.isEmpty {
                guard let url else { throw CloudFailure(.accountTemporarilyUnavailable, "there is no key to encrypt with") }
                do {
                    try Self.add([Self.newKey()], to: url)
                } catch {
                    throw CloudFailure(.accountTemporarilyUnavailable, "the file with the encryption keys cannot be written")
                }
                try read(&state)
            }
            guard let first = state.entries.first else {
                throw CloudFailure(.accountTemporarilyUnavailable, "there is no key to encrypt with")
            }
            return (first.id, first.key)
        }
    }

    /// - Returns: nil for a key that is not on this device.
    func key(_ id: KeyID) throws -> SymmetricKey? {
        try state.withLock { state in
            if let known = state.entries.first(where: { $0.id == id }) { return known.key }
            try read(&state)
            return state.entries.first { $0.id == id }?.key
        }
    }

    // MARK: Carrying keys to other devices

    /// All keys as text, one a line.
    func text() throws -> String { try keys().map { $0.line + "\n" }.joined() }

    /// Adds keys of another device after those that are there.
    func add(_ text: String) throws {
        let new = try EncryptionKey.parse(text)
        guard !new.isEmpty else { throw EncryptionKey.unreadable("There is no key in the text") }
        guard let url else {
            throw CocoaError(
                .featureUnsupported,
                userInfo: [NSLocalizedDescriptionKey: "The keys of this store are given by the app; give it the new ones with the others."])
        }
        try state.withLock { state in
            try Self.add(new, to: url)
            try read(&state)
        }
    }

    private static func newKey() -> EncryptionKey {
        EncryptionKey(bytes: SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) })
    }

    private func keys() throws -> [EncryptionKey] {
        guard let url else { return given }
        return try Self.keys(in: url)
    }

    /// - Throws: `CloudFailure` for a file that cannot be read, so that the status says what is wrong.
    private func read(_ state: inout State) throws {
        let keys: [EncryptionKey]
        do {
            keys = try self.keys()
        } catch {
            throw CloudFailure(.accountTemporarilyUnavailable, "the file with the encryption keys cannot be read, or holds something else")
        }
        state.entries = keys.map { Entry(id: Self.id(of: $0), key: SymmetricKey(data: $0.bytes)) }
        state.isRead = true
    }

    private static func id(of key: EncryptionKey) -> KeyID {
        var hash = SHA256()
        hash.update(data: Array("tarn key id 1".utf8))
        hash.update(data: key.bytes)
        return KeyID(bytes: Array(hash.finalize().prefix(KeyID.byteCount)))
    }

    private static func keys(in url: URL) throws -> [EncryptionKey] {
        guard FileManager.default.fileExists(atPath: url.path) else { return [] }
        return try EncryptionKey.parse(String(decoding: try Data(contentsOf: url), as: UTF8.self))
    }

    /// The whole file appears at once, readable by its owner only.
    private static func add(_ keys: [EncryptionKey], to url: URL) throws {
        let known = try self.keys(in: url)
        let new = keys.filter { !known.contains($0) }
        if new.isEmpty { return }
        let folder = url.deletingLastPathComponent()
        let manager = FileManager.default
        try manager.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let partial = url.appendingPathExtension("part-" + UUID().uuidString)
        let content = "# Keys of encrypted data. Whoever has them can read it; without them it is lost.\n" + (known + new).map { $0.line + "\n" }.joined()
        guard manager.createFile(atPath: partial.path, contents: Data(content.utf8), attributes: [.posixPermissions: 0o600]),
            rename(partial.path, url.path) == 0
        else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path]) }
    }
}
