// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension AssetUploadRequest.Item: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var keys = AssetKeys()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try !keys.decode(key, from: &reader) { try reader.skipValue() }
        }
        self.init(
            recordType: try keys.recordType.required("the token has no recordType", at: start),
            recordName: keys.recordName, fieldName: try keys.fieldName.required("the token has no fieldName", at: start))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordType", recordType)
            writer.member("recordName", recordName)
            writer.member("fieldName", fieldName)
        }
    }
}

private struct AssetKeys {
    var recordType: String?
    var recordName: String?
    var fieldName: String?
    var url: String?

    mutating func decode(_ key: JSONKey, from reader: inout JSONReader) throws(JSONFault) -> Bool {
        switch key {
        case "recordType": recordType = try reader.readString()
        case "recordName": recordName = try reader.readString()
        case "fieldName": fieldName = try reader.readString()
        case "url": url = try reader.readString()
        default: return false
        }
        return true
    }
}

extension AssetUploadRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var items: [Item]?
        self.init(items: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "tokens": items = try reader.readArray()
            case "zoneID": zoneID = try ZoneID(from: &reader)
            default: try reader.skipValue()
            }
        }
        self.items = try items.required("the request has no tokens", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            writer.member("tokens", items)
        }
    }
}

extension AssetUploadResult: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var keys = AssetKeys()
        var error = ErrorKeys()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try keys.decode(key, from: &reader) { continue }
            if try error.decode(key, from: &reader) { continue }
            try reader.skipValue()
        }
        if let error = error.error {
            self = .failure(recordName: keys.recordName, fieldName: keys.fieldName, error)
            return
        }
        self = .address(
            AssetUploadAddress(
                recordName: try keys.recordName.required("the token has no recordName", at: start),
                fieldName: try keys.fieldName.required("the token has no fieldName", at: start),
                url: try keys.url.required("the token has no url", at: start)))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .address(let address):
                writer.member("recordName", address.recordName)
                writer.member("fieldName", address.fieldName)
                writer.member("url", address.url)
            case .failure(let recordName, let fieldName, let error):
                writer.member("recordName", recordName)
                writer.member("fieldName", fieldName)
                error.writeMembers(to: &writer)
            }
        }
    }
}

extension AssetUploadResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(results: try reader.readList("tokens", orFault: "the response has no tokens"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("tokens", results) }
    }
}

extension AssetUploadReceipt: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var asset: AssetValue?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "singleFile": asset = try AssetValue(from: &reader)
            default: try reader.skipValue()
            }
        }
        self.init(asset: try asset.required("the response has no singleFile", at: start))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("singleFile", asset) }
    }
}
