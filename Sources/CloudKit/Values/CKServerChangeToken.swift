// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A position in the change feed of a database or a zone. Opaque, and valid for that database or zone only. Equal by
/// value; archive it to continue in a later process.
///
/// Source: Apple's documentation of `CKServerChangeToken`.
public final class CKServerChangeToken: NSObject, NSCopying, NSSecureCoding, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// Returns whether an object is an equal token.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKServerChangeToken)?.text == text }
    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { text.hashValue }
    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived token. Returns `nil` if the archive is damaged.
    public init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "token") else { return nil }
        self.text = text as String
    }

    /// Encodes the token.
    public func encode(with coder: NSCoder) {
        coder.encode(text as NSString, forKey: "token")
    }
}
