// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension ZoneID: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var zoneName: String?
        var ownerRecordName: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneName": zoneName = try reader.readString()
            case "ownerRecordName": ownerRecordName = try reader.readString()
            default: try reader.skipValue()
            }
        }
        self.init(
            zoneName: try zoneName.required("the zone has no zoneName", at: start), ownerRecordName: ownerRecordName)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneName", zoneName)
            writer.member("ownerRecordName", ownerRecordName)
            if writer.hasLiveKeys { writer.member("zoneType", isDefaultZone ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE") }
        }
    }
}

extension RecordStamp: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var timestamp: Int64?
        var userRecordName: String?
        var deviceID: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "timestamp": timestamp = try reader.readMilliseconds()
            case "userRecordName": userRecordName = try reader.readString()
            case "deviceID": deviceID = try reader.readString()
            default: try reader.skipValue()
            }
        }
        self.init(
            timestamp: try timestamp.required("a timestamp is missing", at: start),
            userRecordName: userRecordName ?? "", deviceID: deviceID)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("timestamp", timestamp)
            writer.member("userRecordName", userRecordName)
            writer.member("deviceID", deviceID)
        }
    }
}

extension RecordReference: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var recordName: String?
        var zoneID: ZoneID?
        var action = Action.none
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.readString()
            case "zoneID": zoneID = try ZoneID(from: &reader)
            case "action": action = try reader.readChoice(orFault: "the action of the reference is unknown")
            default: try reader.skipValue()
            }
        }
        self.init(
            recordName: try recordName.required("the reference has no recordName", at: start), zoneID: zoneID,
            action: action)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordName", recordName)
            writer.member("action", action.rawValue)
            writer.member("zoneID", zoneID)
        }
    }
}

extension RecordLocation: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var latitude: Double?
        var longitude: Double?
        self.init(latitude: 0, longitude: 0)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "latitude": latitude = try reader.readDouble()
            case "longitude": longitude = try reader.readDouble()
            case "horizontalAccuracy": horizontalAccuracy = try reader.readDouble()
            case "verticalAccuracy": verticalAccuracy = try reader.readDouble()
            case "altitude": altitude = try reader.readDouble()
            case "speed": speed = try reader.readDouble()
            case "course": course = try reader.readDouble()
            case "timestamp": timestamp = try reader.readInt64()
            default: try reader.skipValue()
            }
        }
        self.latitude = try latitude.required("the location has no latitude", at: start)
        self.longitude = try longitude.required("the location has no longitude", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("latitude", latitude)
            writer.member("longitude", longitude)
            writer.member("horizontalAccuracy", horizontalAccuracy)
            writer.member("verticalAccuracy", verticalAccuracy)
            writer.member("altitude", altitude)
            writer.member("speed", speed)
            writer.member("course", course)
            writer.member("timestamp", timestamp)
        }
    }
}

extension AssetValue: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var checksum: String?
        self.init(fileChecksum: "", size: 0)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "fileChecksum": checksum = try reader.readString()
            case "size":
                let offset = try reader.next()
                size = try reader.readInt64()
                guard size >= 0 else { throw JSONFault("the size of the asset is negative", at: offset) }
                guard size <= UntrustedNumber.assetBytesMax else { throw JSONFault("the size of the asset is too large", at: offset) }
            case "receipt": receipt = try reader.readString()
            case "referenceChecksum": referenceChecksum = try reader.readString()
            case "wrappingKey": wrappingKey = try reader.readString()
            case "downloadURL": downloadURL = try reader.readString()
            default: try reader.skipValue()
            }
        }
        fileChecksum = try checksum.required("the asset has no fileChecksum", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("fileChecksum", fileChecksum)
            writer.member("size", size)
            writer.member("receipt", receipt)
            writer.member("referenceChecksum", referenceChecksum)
            writer.member("wrappingKey", wrappingKey)
            writer.member("downloadURL", downloadURL)
        }
    }
}
