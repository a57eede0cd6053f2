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
        self.init(identifier: try identifier.required("the snapshot has no identifier", at: start))
        guard let byteCount, let digest, let syncToken else { return }
        whole = Whole(byteCount: byteCount, recordCount: recordCount, digest: digest, syncToken: syncToken)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("identifier", identifier)
            guard let whole else { return }
            writer.member("byteCount", whole.byteCount)
            writer.member("recordCount", whole.recordCount)
            writer.key("digest")
            writer.base64(whole.digest)
            writer.member("syncToken", whole.syncToken)
        }
    }
}
