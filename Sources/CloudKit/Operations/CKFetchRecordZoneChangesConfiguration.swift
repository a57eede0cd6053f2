// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The start, the size and the fields of a fetch of one zone: `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.
///
/// The name is that of the Objective-C class, since archives on Linux cannot contain nested classes.
///
/// Source: Apple's documentation of `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.
public final class CKFetchRecordZoneChangesConfiguration: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: set up before the operation is started.
    /// The token to continue from. `nil` fetches from the start.
    public var previousServerChangeToken: CKServerChangeToken?
    /// Maximum number of records of one page. 0 leaves it to the server.
    public var resultsLimit = 0
    /// The fields to fetch. `nil` fetches all fields, an empty list none.
    public var desiredKeys: [CKRecord.FieldKey]?

    /// Creates a configuration with default values.
    public override init() {}

    /// Creates a configuration.
    public convenience init(
        previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil, desiredKeys: [CKRecord.FieldKey]? = nil
    ) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
        self.resultsLimit = resultsLimit ?? 0
        self.desiredKeys = desiredKeys
    }

    /// Returns an independent copy.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKFetchRecordZoneChangesConfiguration(
            previousServerChangeToken: previousServerChangeToken, resultsLimit: resultsLimit, desiredKeys: desiredKeys)
    }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived configuration. Returns `nil` if the archive is damaged.
    public convenience init?(coder: NSCoder) {
        self.init(
            previousServerChangeToken: coder.decodeObject(of: CKServerChangeToken.self, forKey: "token"),
            resultsLimit: max(0, coder.decodeInteger(forKey: "resultsLimit")),
            desiredKeys: coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "desiredKeys") as? [CKRecord.FieldKey])
    }

    /// Encodes the configuration.
    public func encode(with coder: NSCoder) {
        coder.encode(previousServerChangeToken, forKey: "token")
        coder.encode(resultsLimit, forKey: "resultsLimit")
        coder.encode(desiredKeys.map { $0 as NSArray }, forKey: "desiredKeys")
    }
}
