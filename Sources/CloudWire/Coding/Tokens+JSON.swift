// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension PushTokenRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var apnsEnvironment: CloudEnvironment?
        self.init(apnsEnvironment: .development)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "apnsEnvironment":
                apnsEnvironment = try reader.readChoice(orFault: "the apnsEnvironment is neither development nor production")
            case "apnsToken": apnsToken = try reader.readString()
            case "clientId": clientID = try reader.readString()
            default: try reader.skipValue()
            }
        }
        self.apnsEnvironment = try apnsEnvironment.required("the request has no apnsEnvironment", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("apnsEnvironment", apnsEnvironment.rawValue)
            writer.member("apnsToken", apnsToken)
            writer.member("clientId", clientID)
        }
    }
}

extension PushTokenResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var apnsEnvironment: CloudEnvironment?
        var apnsToken: String?
        var webcourierURL: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "apnsEnvironment":
                apnsEnvironment = try reader.readChoice(orFault: "the apnsEnvironment is neither development nor production")
            case "apnsToken": apnsToken = try reader.readString()
            case "webcourierURL": webcourierURL = try reader.readString()
            default: try reader.skipValue()
            }
        }
        self.init(
            apnsEnvironment: try apnsEnvironment.required("the response has no apnsEnvironment", at: start),
            apnsToken: try apnsToken.required("the response has no apnsToken", at: start),
            webcourierURL: try webcourierURL.required("the response has no webcourierURL", at: start))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("apnsEnvironment", apnsEnvironment.rawValue)
            writer.member("apnsToken", apnsToken)
            writer.member("webcourierURL", webcourierURL)
        }
    }
}

extension WebAuthTokenRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(apiToken: try reader.readText("apiToken", orFault: "the request has no apiToken"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("apiToken", apiToken) }
    }
}

extension WebAuthTokenResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(webAuthToken: try reader.readText("webAuthToken", orFault: "the response has no webAuthToken"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("webAuthToken", webAuthToken) }
    }
}
