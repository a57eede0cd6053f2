// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Crypto
import Foundation
import MirroringCore
import ObjectGraph
import Synchronization
import SystemSupport

/// The keys of one container: read when they are needed, created when something is sealed first.
///
/// Every mirrored store of every process has a ring of its own on the one file. A ring writes under the lock of the file and
/// after reading it again, so that rings neither create two first keys nor drop each other's. No key seals before its file
/// is durable: a power cut never leaves encrypted values on the server without their key.
final class EncryptionKeyRing: Sendable {
    /// The key's identifier in an encrypted value: the beginning of a hash.
    struct KeyID: Hashable, Sendable {
        static let byteCount = 8
        let bytes: [UInt8]

        var text: String { Hex.text(bytes) }
    }

    private struct Entry {
        let id: KeyID
        let value: EncryptionKey
        let key: SymmetricKey
    }

    private struct State {
        var entries: [Entry] = []
        var isRead = false
        /// The file that was read last; nil for a missing one.
        var seen: FileStamp?
        /// The file that holds all entries and is on the disk; nil as long as that is not known.
        var durable: FileStamp?
        /// Keys of other devices that received values need.
        var missing: Set<KeyID> = []
    }

    /// How long another process may hold the lock of the file.
    private static let lockTimeLimit = Duration.seconds(10)

    /// nil for keys that were given.
    private let url: URL?
    private let given: [EncryptionKey]
    private let disk: DurableFile.Disk
    private let state = Mutex(State())

    init(_ keys: NSPersistentCloudKitContainerOptions.EncryptionKeys, container: String, disk: DurableFile.Disk = .real) {
        self.disk = disk
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

    /// Returns the key that encrypts: that of the latest rotation, or the first one of the file. Creates it if the file has none; the file is
    /// durable then.
    ///
    /// A share's zone may have a key of its own, which encrypts there.
    ///
    /// A file that was deleted while the ring held its keys is written again, so that their values can still be decrypted.
    ///
    /// - Parameter owner: The owner of another user's zone; nil for a zone of this user.
    func sealingKey(in zone: String = "", of owner: String? = nil) throws -> (id: KeyID, key: SymmetricKey) {
        let names = Self.names(zone, owner)
        return try state.withLock { state in
            if !state.isRead { try read(&state) }
            // A first key here would be a second key of the user, which other devices lack.
            if lacksKey(state, names) { throw Self.missingKey }
            let isFirst = !state.entries.contains { Self.isUsable($0.value, names) }
            if let url, isFirst || state.durable == nil || state.durable != FileStamp(path: url.path) {
                do {
                    let isReady = try isFirst ? false : synchronize(&state, url)
                    if !isReady {
                        try update(&state, url) { keys in keys.contains { Self.isUsable($0, names) } ? [] : [Self.newKey()] }
                    }
                } catch let failure as CloudFailure {
                    throw failure
                } catch {
                    throw CloudFailure(.accountTemporarilyUnavailable, "the file with the encryption keys cannot be written")
                }
            }
            guard let first = Self.encrypting(state.entries, names) else {
                throw CloudFailure(.accountTemporarilyUnavailable, "the key file has no key")
            }
            return (first.id, first.key)
        }
    }

    /// Whether a new key would be one that other devices lack.
    ///
    /// A device that has a key never waits for another one: anybody with write access can make a value that names an unknown key.
    private func lacksKey(_ state: State, _ names: [String]) -> Bool {
        !state.missing.isEmpty && !state.entries.contains { Self.isUsable($0.value, names) }
    }

    /// The zones that keys of a zone name, the preferred ones first.
    ///
    /// Keys of another user's share name its owner, too: another owner can give a zone the same name. Those that earlier versions added do
    /// not. A zone with a slash in its name has none of them: the name may be that of another zone with its owner.
    private static func names(_ zone: String, _ owner: String?) -> [String] {
        (owner.map { [EncryptionKey.zone(zone, of: $0)] } ?? []) + (zone.contains("/") ? [] : [zone])
    }

    private static func isUsable(_ key: EncryptionKey, _ names: [String]) -> Bool { key.zone.map { names.contains($0) } ?? true }

    enum Found {
        case key(SymmetricKey)
        /// The key is that of another zone: a person who has it has no say here.
        case ofAnotherZone
        case missing
    }

    func key(_ id: KeyID, in zone: String, of owner: String? = nil) throws -> Found {
        try state.withLock { state in
            let names = Self.names(zone, owner)
            // The owner of one share can give out the key of another one for it, so that the key is there for both zones.
            var entry = state.entries.first { $0.id == id && Self.isUsable($0.value, names) }
            if entry == nil {
                try readIfChanged(&state)
                entry = state.entries.first { $0.id == id && Self.isUsable($0.value, names) }
            }
            guard state.entries.contains(where: { $0.id == id }) else {
                state.missing.insert(id)
                return .missing
            }
            state.missing.remove(id)
            guard let entry else { return .ofAnotherZone }
            return .key(entry.key)
        }
    }

    /// - Parameter name: A ``KeyID/text``.
    func hasKey(named name: String) throws -> Bool {
        guard let bytes = Hex.bytes(name), bytes.count == KeyID.byteCount else { return false }
        return try state.withLock { state in
            let id = KeyID(bytes: bytes)
            if !state.entries.contains(where: { $0.id == id }) { try readIfChanged(&state) }
            return state.entries.contains { $0.id == id }
        }
    }

    /// Why values are not encrypted on a device without any key.
    static var missingKey: CloudFailure {
        CloudFailure(
            .accountTemporarilyUnavailable,
            "data was encrypted on another device with a key that is not here; add the keys of the user's device with addEncryptionKeys(_:to:), or those of another user's share with addEncryptionKeys(_:for:in:)"
        )
    }

    // MARK: Carrying keys to other devices

    /// Keys as text, one a line.
    ///
    /// - Parameters:
    ///   - zone: The zone of a share, for its own keys; nil for all keys.
    ///   - owner: The owner of another user's share.
    ///   - line: The form of a key.
    func text(
        ofShare zone: String? = nil, of owner: String? = nil, _ line: (EncryptionKey) -> String = \.line
    ) throws -> String {
        let names = zone.map { Self.names($0, owner) }
        let keys = try keys()
        let held = state.withLock { $0.entries.map(\.value) }
        return (keys + held.filter { !keys.contains($0) }).filter { key in
            names.map { names in key.zone.map { names.contains($0) } ?? false } ?? true
        }
        .map { line($0) + "\n" }.joined()
    }

    /// Adds keys of another device after those that are there.
    ///
    /// - Parameter mayBeNew: `false` for a text that another user may have made. A new key could encrypt the values of this user, or of the
    ///   share of a third one, for example by a greater generation, and the other user could read them.
    func add(_ text: String, mayBeNew: Bool = true) throws {
        let new = try EncryptionKey.parse(text)
        guard !new.isEmpty else { throw EncryptionKey.unreadable("The text has no key") }
        guard let url else { throw Self.given }
        try state.withLock { state in
            try update(&state, url) { keys in
                if !mayBeNew, new.contains(where: { !keys.contains($0) }) { throw Self.needsShare }
                return new
            }
        }
    }

    /// Adds keys of another user's share. They are used in its zone only, whichever zones the text names.
    ///
    /// - Throws: `CocoaError` for a text with a key of another zone.
    func add(_ text: String, ofShare zone: String, of owner: String) throws {
        let new = try EncryptionKey.parse(text)
        guard !new.isEmpty else { throw EncryptionKey.unreadable("The text has no key") }
        guard let url else { throw Self.given }
        let bound = EncryptionKey.zone(zone, of: owner)
        guard EncryptionKey.isShareZone(bound), !owner.contains("/"), new.allSatisfy({ $0.zone == zone || $0.zone == bound }) else {
            throw Self.notOfShare
        }
        // A participant's text may have a key with and without the owner.
        let keys = new.map { EncryptionKey(bytes: $0.bytes, generation: $0.generation, zone: bound) }.reduce(into: [EncryptionKey]()) {
            if !$0.contains($1) { $0.append($1) }
        }
        try state.withLock { state in
            try update(&state, url) { _ in keys }
        }
    }

    /// Creates a key that encrypts from now on. The present keys go on decrypting.
    ///
    /// - Parameter zone: The zone of a share, which gets a key of its own; nil for all other zones.
    func rotate(ofShare zone: String? = nil) throws {
        guard let url else { throw Self.given }
        try state.withLock { state in
            if !state.isRead { try read(&state) }
            // Another device's keys come first: the values of that device would stay unreadable.
            if lacksKey(state, [zone ?? ""]) { throw Self.missingKey }
            try update(&state, url) { keys in
                let generation = keys.filter { $0.zone == zone }.map(\.generation).max() ?? 0
                guard generation < .max else { throw CocoaError(.fileWriteUnknown) }
                return [Self.newKey(generation: generation + 1, zone: zone)]
            }
        }
    }

    /// Devices that rotated at the same time choose the same one of their keys, once they have each other's.
    private static func encrypting(_ all: [Entry], _ names: [String]) -> Entry? {
        let own = names.lazy.map { name in all.filter { $0.value.zone == name } }.first { !$0.isEmpty }
        let entries = own ?? all.filter { $0.value.zone == nil }
        guard let latest = entries.map(\.value.generation).max() else { return nil }
        let candidates = entries.filter { $0.value.generation == latest }
        return latest == 0 ? candidates.first : candidates.min { $0.id.text < $1.id.text }
    }

    private static func newKey(generation: UInt32 = 0, zone: String? = nil) -> EncryptionKey {
        EncryptionKey(bytes: SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }, generation: generation, zone: zone)
    }

    private static var needsShare: CocoaError {
        CocoaError(
            .persistentStoreOperation,
            userInfo: [
                NSLocalizedDescriptionKey:
                    "Add the keys of another user's share with addEncryptionKeys(_:for:in:), and keys of the user's own devices to the store of the private database."
            ])
    }

    private static var notOfShare: CocoaError {
        CocoaError(
            .persistentStoreOperation,
            userInfo: [
                NSLocalizedDescriptionKey: "The text has a key that is not one of the share: request the keys from the share's owner."
            ])
    }

    private static var given: CocoaError {
        CocoaError(
            .featureUnsupported,
            userInfo: [NSLocalizedDescriptionKey: "The keys of this store are given by the app; give it the new ones with the others."])
    }

    private func keys() throws -> [EncryptionKey] {
        guard let url else { return given }
        return try Self.keys(in: url)
    }

    /// Reads the file again for a key that is not in it, unless it is the file that was read last: an import may have very many values that
    /// lack their key. Other processes replace the file as a whole.
    private func readIfChanged(_ state: inout State) throws {
        if state.isRead, state.seen == url.flatMap({ FileStamp(path: $0.path) }) { return }
        try read(&state)
    }

    /// - Throws: `CloudFailure` for a file that cannot be read, for the status.
    private func read(_ state: inout State) throws {
        // Before the content: a file that is replaced in between is read once more.
        let stamp = url.flatMap { FileStamp(path: $0.path) }
        let keys: [EncryptionKey]
        do {
            keys = try self.keys()
        } catch {
            throw CloudFailure(.accountTemporarilyUnavailable, "the file with the encryption keys cannot be read, or holds something else")
        }
        hold(keys, &state)
        state.seen = stamp
    }

    /// Keys that the file holds no more stay: something may have been sealed with them.
    private func hold(_ keys: [EncryptionKey], _ state: inout State) {
        let old = state.entries.filter { !keys.contains($0.value) }
        state.entries = keys.map { Entry(id: Self.id(of: $0), value: $0, key: SymmetricKey(data: $0.bytes)) } + old
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

    /// Reads the file, and makes it durable as it is.
    ///
    /// It needs no lock, since other processes replace the file as a whole. So keys encrypt, too, that are in a folder which this process
    /// cannot write, such as a mounted secret.
    ///
    /// - Returns: `false` if the file lacks a key.
    private func synchronize(_ state: inout State, _ url: URL) throws -> Bool {
        // Before the content: a file that is replaced in between is synchronized again for the next value.
        let stamp = FileStamp(path: url.path)
        let stored = try Self.keys(in: url)
        guard stamp != nil, state.entries.allSatisfy({ stored.contains($0.value) }) else { return false }
        try DurableFile.synchronize(url, disk: disk)
        hold(stored, &state)
        state.durable = stamp
        return true
    }

    /// Reads the file under its lock, adds keys, and makes it durable.
    ///
    /// - Parameter new: Keys to add to those that there are.
    private func update(_ state: inout State, _ url: URL, _ new: ([EncryptionKey]) throws -> [EncryptionKey]) throws {
        try DurableFile.createFolder(url.deletingLastPathComponent(), disk: disk)
        try FileLock(path: url.path + "-lock").withLock(limit: Self.lockTimeLimit) {
            let stored = try Self.keys(in: url)
            var keys = stored + state.entries.map(\.value).filter { !stored.contains($0) }
            keys += try new(keys).filter { !keys.contains($0) }
            if keys == stored {
                // The process that wrote it may have died before the file was durable.
                if !stored.isEmpty { try DurableFile.synchronize(url, disk: disk) }
            } else {
                let content = "# Keys of encrypted data: secret, and necessary to decrypt it.\n" + keys.map { $0.line + "\n" }.joined()
                try DurableFile.replace(url, with: Data(content.utf8), disk: disk)
            }
            hold(keys, &state)
            state.durable = FileStamp(path: url.path)
        }
    }
}
