// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

extension NSPersistentCloudKitContainerOptions {
    /// Where the keys are with which attributes are sealed that allow cloud encryption. They never leave the device but
    /// by ``text(_:)`` and the like: no server sees them, and what was sealed cannot be read without them.
    ///
    /// Several keys may be in use: the first seals, all of them open.
    ///
    /// Differs: Apple keeps such keys in the user's keychain and carries them to the user's devices.
    public struct EncryptionKeys: Hashable, Sendable {
        enum Place: Hashable, Sendable {
            case file(URL?)
            case given([EncryptionKey])
        }

        let place: Place

        /// `CONTAINER.keys` in the folder `tarn/keys` of the user's configuration folder, `$XDG_CONFIG_HOME` or
        /// `~/.config`. The file is made, readable by its owner only, when something is sealed first.
        public static let file = EncryptionKeys(place: .file(nil))

        /// A file elsewhere, with the same content. It is made when something is sealed first.
        public static func file(_ url: URL) -> EncryptionKeys { EncryptionKeys(place: .file(url)) }

        /// Keys that the app keeps itself, such as in a vault.
        ///
        /// - Parameter text: What `tarn-key-1:` lines say; see ``NSPersistentCloudKitContainer/encryptionKeyText(of:)``.
        /// - Throws: ``CocoaError`` `.fileReadCorruptFile` for text without a key, or with a line that is none.
        public static func text(_ text: String) throws -> EncryptionKeys {
            let keys = try EncryptionKey.parse(text)
            guard !keys.isEmpty else { throw EncryptionKey.unreadable("There is no key in the text") }
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

    /// One key a line; empty lines and lines that begin with `#` are passed over.
    static func parse(_ text: String) throws -> [EncryptionKey] {
        var keys: [EncryptionKey] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard line.hasPrefix(prefix), let bytes = Data(base64Encoded: String(line.dropFirst(prefix.count))), bytes.count == byteCount else {
                throw unreadable("Line \(number + 1) is no key")
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
