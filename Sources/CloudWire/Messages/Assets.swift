// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST {database}/assets/upload`: asks where files may be sent to.
///
/// Source: *CloudKit Web Services Reference*, "Uploading Assets".
package struct AssetUploadRequest: Hashable, Sendable {
    /// The field a file is for. The record need not exist yet.
    package struct Item: Hashable, Sendable {
        package var recordType: String
        /// Nil lets the server make a name.
        package var recordName: String?
        package var fieldName: String

        package init(recordType: String, recordName: String?, fieldName: String) {
            self.recordType = recordType
            self.recordName = recordName
            self.fieldName = fieldName
        }
    }

    /// At most `Limits.assetTokensPerRequest`.
    package var items: [Item]
    package var zoneID: ZoneID

    package init(items: [Item], zoneID: ZoneID = .defaultZone) {
        self.items = items
        self.zoneID = zoneID
    }
}

package enum AssetUploadResult: Hashable, Sendable {
    /// Where to POST the bytes of the file, before `Limits.assetUploadSeconds` are over.
    case address(AssetUploadAddress)
    case failure(recordName: String?, fieldName: String?, WireError)
}

package struct AssetUploadAddress: Hashable, Sendable {
    package var recordName: String
    package var fieldName: String
    /// Carries its own proof: no other credential is sent there.
    package var url: String

    package init(recordName: String, fieldName: String, url: String) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.url = url
    }
}

/// One result for each item, in order.
package struct AssetUploadResponse: Hashable, Sendable {
    package var results: [AssetUploadResult]

    package init(results: [AssetUploadResult]) {
        self.results = results
    }
}

/// Answer to the bytes of a file (`{"singleFile": {...}}`): the value to save in the record's field.
package struct AssetUploadReceipt: Hashable, Sendable {
    package var asset: AssetValue

    package init(asset: AssetValue) {
        self.asset = asset
    }

    /// - Parameters:
    ///   - checksum: SHA-256 of the file, in hexadecimal digits.
    ///   - receipt: Proof of the upload.
    ///
    /// The key and the checksum of the reference say nothing here: clients hand them back as they came.
    package init(checksum: String, size: Int64, receipt: String) {
        asset = AssetValue(fileChecksum: checksum, size: size, receipt: receipt)
        let bytes = Array(checksum.utf8)
        asset.referenceChecksum = Base64.encode([1] + bytes.prefix(20))
        asset.wrappingKey = Base64.encode(Array(bytes.suffix(16)))
    }
}
