// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A request, a response, or a part of one, encoded as one JSON object.
package protocol WireMessage: Hashable, Sendable {
    /// Decodes the object at the reader's position. Unknown keys are skipped, and a key with the value null counts as
    /// absent.
    init(from reader: inout JSONReader) throws(JSONFault)

    /// Encodes one object. The order of keys is fixed, and fields of records are sorted by name.
    func write(to writer: inout JSONWriter)
}

/// Options of a response in addition to its values.
package struct AnswerForm: Hashable, Sendable {
    /// Whether existing records have `deleted` and `pluginFields`, and zones have `zoneType`. Programs for the live
    /// service, which always sends them, may rely on them; Tarn's client does not.
    package var hasLiveKeys: Bool
    /// The identifier in errors of single items, to find them in the server's log.
    package var requestUUID: String?
    /// Whether members are omitted that Apple's documents don't have: native codes of errors, reasons of deleted zones,
    /// types of deleted records.
    package var isDocumentedOnly = false

    package init(hasLiveKeys: Bool = false, requestUUID: String? = nil) {
        self.hasLiveKeys = hasLiveKeys
        self.requestUUID = requestUUID
    }
}

extension WireMessage {
    /// The object in UTF-8, without white space. Equal messages give equal bytes.
    ///
    /// - Parameters:
    ///   - numbersAsStrings: Whether numbers in fields of records are written as strings.
    ///   - form: Options of the response.
    package func encoded(numbersAsStrings: Bool = false, as form: AnswerForm = AnswerForm()) -> [UInt8] {
        var writer = JSONWriter()
        writer.numbersAsStrings = numbersAsStrings
        writer.hasLiveKeys = form.hasLiveKeys
        writer.errorUUID = form.requestUUID
        writer.isDocumentedOnly = form.isDocumentedOnly
        write(to: &writer)
        return writer.bytes
    }

    /// Decodes a whole body of at most `Limits.messageBytes`.
    ///
    /// - Throws: `WireError` with `.badRequest`. The reason has the error, its key path and its byte offset, and never
    ///   a value.
    package init(json: [UInt8]) throws(WireError) {
        self = try Self.decode(json, roundsTimestamps: false)
    }

    /// Decodes the response of a server, which may have times with fractions of milliseconds: they are rounded.
    ///
    /// - Throws: As ``init(json:)``.
    package init(response json: [UInt8]) throws(WireError) {
        self = try Self.decode(json, roundsTimestamps: true)
    }

    private static func decode(_ json: [UInt8], roundsTimestamps: Bool) throws(WireError) -> Self {
        guard json.count <= Limits.messageBytes else {
            throw WireError(.badRequest, "the body is larger than \(Limits.messageBytes) bytes")
        }
        do {
            return try json.withUnsafeBufferPointer { (bytes) throws(JSONFault) -> Self in
                var reader = JSONReader(bytes)
                reader.roundsTimestamps = roundsTimestamps
                let message = try Self(from: &reader)
                try reader.expectEnd()
                return message
            }
        } catch {
            throw error.wireError(in: json)
        }
    }
}
