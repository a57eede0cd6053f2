// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Body of `POST {database}/assets/upload`: requests upload addresses.
///
/// Source: *CloudKit Web Services Reference*, "Uploading Assets".
package struct AssetUploadRequest: Hashable, Sendable {
    /// The field that will refer to the file. The record need not exist yet.
    package struct Item: Hashable, Sendable {
        package var recordType: String
        /// `nil` lets the server choose a name.
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
    /// Where to POST the content of the file, within `Limits.assetUploadSeconds`.
    case address(AssetUploadAddress)
    case failure(recordName: String?, fieldName: String?, WireError)
}

package struct AssetUploadAddress: Hashable, Sendable {
    package var recordName: String
    package var fieldName: String
    /// Contains its own authorization: no other credential is sent with it.
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

/// Response to an upload (`{"singleFile": {...}}`): the value to save in the record's field.
package struct AssetUploadReceipt: Hashable, Sendable {
    package var asset: AssetValue

    package init(asset: AssetValue) {
        self.asset = asset
    }

    /// - Parameters:
    ///   - checksum: SHA-256 of the file, in hexadecimal digits.
    ///   - receipt: Proof of the upload.
    ///
    /// The key and the checksum of the reference have no meaning here: clients return them unchanged.
    package init(checksum: String, size: Int64, receipt: String) {
        asset = AssetValue(fileChecksum: checksum, size: size, receipt: receipt)
        let bytes = Array(checksum.utf8)
        asset.referenceChecksum = Base64.encode([1] + bytes.prefix(20))
        asset.wrappingKey = Base64.encode(Array(bytes.suffix(16)))
    }
}
