// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension SnapshotOffer: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var identifier: String?
        var byteCount: Int64?
        var digest: [UInt8]?
        var syncToken: String?
        var recordCount = 0
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "identifier": identifier = try reader.readString()
            case "byteCount": byteCount = try reader.readCount()
            case "recordCount": recordCount = Int(try reader.readCount())
            case "digest": digest = try reader.readBase64()
            case "syncToken": syncToken = try reader.readString()
            default: try reader.skipValue()
            }
        }
        self.init(
            identifier: try identifier.required("the snapshot has no identifier", at: start),
            byteCount: try byteCount.required("the snapshot has no byteCount", at: start), recordCount: recordCount,
            digest: try digest.required("the snapshot has no digest", at: start),
            syncToken: try syncToken.required("the snapshot has no syncToken", at: start))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("identifier", identifier)
            writer.member("byteCount", byteCount)
            writer.member("recordCount", recordCount)
            writer.key("digest")
            writer.base64(digest)
            writer.member("syncToken", syncToken)
        }
    }
}
