// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// The value of a large field, stored outside of its record.
///
/// Source: Apple's documentation of `CKAsset`.
public final class CKAsset: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The file with the content. The file of a fetched asset is in a folder that may be emptied at any time, so copy
    /// it immediately. `nil` if the content was not fetched.
    public let fileURL: URL?
    /// The server's identifier of the content. `nil` before it was saved.
    let value: AssetValue?

    /// Creates an asset.
    ///
    /// - Parameter fileURL: The file is read when the record is saved. It must exist and stay unchanged until then.
    public init(fileURL: URL) {
        self.fileURL = fileURL
        value = nil
    }

    init(_ value: AssetValue, fileURL: URL?) {
        self.value = value
        self.fileURL = fileURL
    }

    func withFile(_ fileURL: URL) -> CKAsset {
        value.map { CKAsset($0, fileURL: fileURL) } ?? CKAsset(fileURL: fileURL)
    }

    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived asset. Returns `nil` if the archive is damaged.
    public init?(coder: NSCoder) {
        fileURL = (coder.decodeObject(of: NSString.self, forKey: "file") as String?).map { URL(fileURLWithPath: $0) }
        let field = coder.decodeObject(of: NSData.self, forKey: "value")
            .flatMap { try? Field(json: Array(Data(referencing: $0))) }
        if case .asset(let asset)? = field?.value { value = asset } else { value = nil }
        super.init()
        if fileURL == nil, value == nil { return nil }
    }

    /// Encodes the asset.
    public func encode(with coder: NSCoder) {
        coder.encode(fileURL.map { $0.path as NSString }, forKey: "file")
        coder.encode(value.map { NSData(data: Data(Field(.asset($0)).encoded())) }, forKey: "value")
    }
}
