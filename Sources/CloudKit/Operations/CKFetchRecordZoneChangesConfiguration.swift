// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// From where, and what, of one zone: `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.
///
/// The name is that of the Objective-C class; archives on Linux hold classes that are not nested only.
///
/// Source: Apple's documentation of `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.
public final class CKFetchRecordZoneChangesConfiguration: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: set up before the operation is started.
    /// Nil starts from the beginning.
    public var previousServerChangeToken: CKServerChangeToken?
    /// Records of one page at most; 0 leaves it to the server.
    public var resultsLimit = 0
    /// Nil wants all fields, an empty list none.
    public var desiredKeys: [CKRecord.FieldKey]?

    public override init() {}

    public convenience init(
        previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil, desiredKeys: [CKRecord.FieldKey]? = nil
    ) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
        self.resultsLimit = resultsLimit ?? 0
        self.desiredKeys = desiredKeys
    }

    public func copy(with zone: NSZone? = nil) -> Any {
        CKFetchRecordZoneChangesConfiguration(
            previousServerChangeToken: previousServerChangeToken, resultsLimit: resultsLimit, desiredKeys: desiredKeys)
    }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        self.init(
            previousServerChangeToken: coder.decodeObject(of: CKServerChangeToken.self, forKey: "token"),
            resultsLimit: max(0, coder.decodeInteger(forKey: "resultsLimit")),
            desiredKeys: coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "desiredKeys") as? [CKRecord.FieldKey])
    }

    public func encode(with coder: NSCoder) {
        coder.encode(previousServerChangeToken, forKey: "token")
        coder.encode(resultsLimit, forKey: "resultsLimit")
        coder.encode(desiredKeys.map { $0 as NSArray }, forKey: "desiredKeys")
    }
}
