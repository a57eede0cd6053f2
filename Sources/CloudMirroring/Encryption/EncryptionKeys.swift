// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import MirroringCore

extension NSPersistentCloudKitContainerOptions {
    /// The location of the keys that encrypt attributes with `allowsCloudEncryption`. The server never receives them, and encrypted values
    /// cannot be decrypted without them.
    ///
    /// Several keys may be in use: the one of the latest rotation encrypts, or the first one without rotations; all of them decrypt.
    ///
    /// Differs: Apple stores such keys in the user's keychain, which syncs them to the user's devices.
    public struct EncryptionKeys: Hashable, Sendable {
        enum Place: Hashable, Sendable {
            case file(URL?)
            case given([EncryptionKey])
        }

        let place: Place

        /// `CONTAINER.keys` in the folder `tarn/keys` of the user's configuration folder, `$XDG_CONFIG_HOME` or
        /// `~/.config`. The file is created at the first encryption, readable by its owner only.
        public static let file = EncryptionKeys(place: .file(nil))

        /// A file at another URL, with the same content. It is created at the first encryption.
        public static func file(_ url: URL) -> EncryptionKeys { EncryptionKeys(place: .file(url)) }

        /// Keys that the app stores itself, for example in a vault.
        ///
        /// - Parameter text: The lines of ``NSPersistentCloudKitContainer/encryptionKeyText(of:)``, or those of
        ///   ``NSPersistentCloudKitContainer/encryptionRecoveryText(of:)``.
        /// - Throws: `CocoaError` `.fileReadCorruptFile` for text without a key, or with an invalid line.
        public static func text(_ text: String) throws -> EncryptionKeys {
            let keys = try EncryptionKey.parse(text)
            guard !keys.isEmpty else { throw EncryptionKey.unreadable("The text has no key") }
            return EncryptionKeys(place: .given(keys))
        }
    }
}

/// A key and its purpose. Its description does not show it.
struct EncryptionKey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    static let byteCount = 32
    private static let prefix = "tarn-key-1:"
    /// The prefix of a key that a rotation created; its generation and a colon follow.
    private static let rotatedPrefix = "tarn-key-2:"
    /// The prefix of a share's key; the name of its zone, its generation, and a colon behind each follow.
    private static let sharePrefix = "tarn-key-3:"

    let bytes: [UInt8]
    /// How many rotations preceded the key; 0 for a first key of a device. The greatest generation encrypts.
    var generation: UInt32 = 0
    /// The zone of the share whose values alone the key encrypts and decrypts; nil for all zones. That of another user's share has its owner:
    /// see ``zone(_:of:)``.
    var zone: String?

    var description: String { "•••" }
    var debugDescription: String { "•••" }
    var customMirror: Swift.Mirror { Swift.Mirror(self, children: []) }

    /// The key as a line of a key file.
    var line: String {
        let prefix: String =
            if let zone {
                "\(Self.sharePrefix)\(zone):\(generation):"
            } else if generation > 0 {
                "\(Self.rotatedPrefix)\(generation):"
            } else {
                Self.prefix
            }
        return prefix + Data(bytes).base64EncodedString()
    }

    /// Whether a zone may have a key of its own.
    static func isShareZone(_ name: String) -> Bool {
        name.hasPrefix(MirrorNames.shareZonePrefix) && !name.contains { $0 == ":" || $0.isNewline }
    }

    /// The name of another user's zone with its owner, which is behind the last slash. Record names of users have none.
    static func zone(_ name: String, of owner: String) -> String { "\(name)/\(owner)" }

    private init?(line: String) {
        var text = line[...]
        var generation: UInt32 = 0
        var zone: String?
        if line.hasPrefix(Self.sharePrefix) {
            let parts = line.dropFirst(Self.sharePrefix.count).split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 3, Self.isShareZone(String(parts[0])), let number = UInt32(parts[1]) else { return nil }
            (zone, generation, text) = (String(parts[0]), number, parts[2])
        } else if line.hasPrefix(Self.rotatedPrefix) {
            let parts = line.dropFirst(Self.rotatedPrefix.count).split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, let number = UInt32(parts[0]), number > 0 else { return nil }
            (generation, text) = (number, parts[1])
        } else {
            guard line.hasPrefix(Self.prefix) else { return nil }
            text = line.dropFirst(Self.prefix.count)
        }
        guard let bytes = Data(base64Encoded: String(text)), bytes.count == Self.byteCount else { return nil }
        self.init(bytes: [UInt8](bytes), generation: generation, zone: zone)
    }

    init(bytes: [UInt8], generation: UInt32 = 0, zone: String? = nil) {
        self.bytes = bytes
        self.generation = generation
        self.zone = zone
    }

    /// One key per line; empty lines and lines that begin with `#` are skipped.
    static func parse(_ text: String) throws -> [EncryptionKey] {
        var keys: [EncryptionKey] = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            let isForPaper = line.uppercased().hasPrefix(RecoveryLine.prefix + "-")
            guard let key = isForPaper ? RecoveryLine.key(line) : EncryptionKey(line: line) else {
                throw unreadable(isForPaper ? "Line \(number + 1) has a typing error" : "Line \(number + 1) isn't a key")
            }
            if !keys.contains(key) { keys.append(key) }
        }
        return keys
    }

    static func unreadable(_ what: String) -> CocoaError {
        CocoaError(
            .fileReadCorruptFile,
            userInfo: [
                NSLocalizedDescriptionKey: "\(what): keys stand one a line, each beginning with \(prefix) or \(RecoveryLine.prefix)-."
            ])
    }
}
