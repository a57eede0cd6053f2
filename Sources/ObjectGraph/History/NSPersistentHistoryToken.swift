// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A point in the history of some stores. It can be archived, and names the same point in a later run.
///
/// A token created by `init()` names no store: the history after it is all history.
///
/// Source: developer.apple.com/documentation/coredata/nspersistenthistorytoken
open class NSPersistentHistoryToken: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Unchecked: immutable after init.
    /// Store identifier to transaction number.
    final let positions: [String: Int64]

    public override init() { positions = [:] }

    init(_ positions: [String: Int64]) { self.positions = positions }

    /// Returns true: tokens archive securely.
    open class var supportsSecureCoding: Bool { true }

    /// Archives the transaction numbers by store identifier.
    open func encode(with coder: NSCoder) {
        let text = positions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: "\n")
        coder.encode(text as NSString, forKey: "positions")
    }

    /// Unarchives a token.
    ///
    /// - Returns: nil for another archive.
    public required init?(coder: NSCoder) {
        guard let text = coder.decodeObject(of: NSString.self, forKey: "positions") else { return nil }
        var positions: [String: Int64] = [:]
        for line in String(text).split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count == 2, let number = Int64(parts[1]) else { return nil }
            positions[String(parts[0])] = number
        }
        self.positions = positions
    }

    /// Returns the token itself, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ object: Any?) -> Bool { (object as? NSPersistentHistoryToken)?.positions == positions }
    open override var hash: Int { positions.hashValue }
}
