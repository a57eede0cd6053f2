// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

extension NSPersistentCloudKitContainerOptions {
    /// The location of the keys that encrypt attributes with `allowsCloudEncryption`. The server never receives them, and encrypted values
    /// cannot be decrypted without them.
    ///
    /// Several keys may be in use: the first one encrypts, all of them decrypt.
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
        /// - Parameter text: Lines that begin with `tarn-key-1:`; see ``NSPersistentCloudKitContainer/encryptionKeyText(of:)``.
        /// - Throws: `CocoaError` `.fileReadCorruptFile` for text without a key, or with an invalid line.
        public static func text(_ text: String) throws -> EncryptionKeys {
            let keys = try EncryptionKey.parse(text)
            guard !keys.isEmpty else { throw EncryptionKey.unreadable("The text has no key") }
            return EncryptionKeys(place: .given(keys))
        }
    }
}

/// A key and its name. Its description does not show it.
struct EncryptionKey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    static let byteCount = 32
    private static let prefix = "tarn-key-1:"

    let bytes: [UInt8]

    var description: String { "•••" }
    var debugDescription: String { "•••" }
    var customMirror: Swift.Mirror { Swift.Mirror(self, children: []) }

    /// The key as a line of a key file.
    var line: String { Self.prefix + Data(bytes).base64EncodedString() }

    /// One key per line; empty lines and lines that begin with `#` are skipped.
    static func parse(_ text: String) throws -> [EncryptionKey] {
        var keys: [EncryptionKey] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard line.hasPrefix(prefix), let bytes = Data(base64Encoded: String(line.dropFirst(prefix.count))), bytes.count == byteCount else {
                throw unreadable("Line \(number + 1) isn't a key")
            }
            let key = EncryptionKey(bytes: [UInt8](bytes))
            if !keys.contains(key) { keys.append(key) }
        }
        return keys
    }

    static func unreadable(_ what: String) -> CocoaError {
        CocoaError(
            .fileReadCorruptFile,
            userInfo: [NSLocalizedDescriptionKey: "\(what): keys stand one a line, each beginning with \(prefix)."])
    }
}
