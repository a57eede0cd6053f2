// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A point in the history of a database or a zone, to ask for what came later. Opaque; that of one zone means nothing
/// to another. Equal by value; archives keep it from one run of the app to the next.
///
/// Source: Apple's documentation of `CKServerChangeToken`.
public final class CKServerChangeToken: NSObject, NSCopying, NSSecureCoding, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKServerChangeToken)?.text == text }
    public override var hash: Int { text.hashValue }
    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "token") else { return nil }
        self.text = text as String
    }

    public func encode(with coder: NSCoder) {
        coder.encode(text as NSString, forKey: "token")
    }
}
