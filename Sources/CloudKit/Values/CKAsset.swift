// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// The value of a field that is kept apart from its record because it is large.
///
/// Source: Apple's documentation of `CKAsset`.
public final class CKAsset: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The file with the content. That of a fetched asset lies in a folder that may be emptied at any time, so copy it
    /// at once. Nil if the content was not fetched.
    public let fileURL: URL?
    /// What the server calls the content; nil before it was saved.
    let value: AssetValue?

    /// - Parameter fileURL: The file is read when the record is saved; it must be there and stay unchanged until then.
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

    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        fileURL = (coder.decodeObject(of: NSString.self, forKey: "file") as String?).map { URL(fileURLWithPath: $0) }
        let field = coder.decodeObject(of: NSData.self, forKey: "value")
            .flatMap { try? Field(json: Array(Data(referencing: $0))) }
        if case .asset(let asset)? = field?.value { value = asset } else { value = nil }
        super.init()
        if fileURL == nil, value == nil { return nil }
    }

    public func encode(with coder: NSCoder) {
        coder.encode(fileURL.map { $0.path as NSString }, forKey: "file")
        coder.encode(value.map { NSData(data: Data(Field(.asset($0)).encoded())) }, forKey: "value")
    }
}
