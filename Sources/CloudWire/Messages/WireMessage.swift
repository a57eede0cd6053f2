// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A request, an answer, or a part of one: what travels as one JSON object.
package protocol WireMessage: Hashable, Sendable {
    /// Reads the object at which the reader stands. Unknown keys are passed over, and a key whose value is null counts
    /// as absent.
    init(from reader: inout JSONReader) throws(JSONFault)

    /// Writes one object. Keys have a fixed order, and fields of records are sorted by name.
    func write(to writer: inout JSONWriter)
}

/// What an answer says beside its values.
package struct AnswerForm: Hashable, Sendable {
    /// Whether live records say that they are (`deleted`, `pluginFields`) and zones what they are (`zoneType`). Programs
    /// that others wrote for the live service, which always says so, may count on it; ours do not.
    package var hasLiveKeys: Bool
    /// Stands in errors of single items, so that they can be found in the server's log.
    package var requestUUID: String?

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
    ///   - form: What an answer says beside its values.
    package func encoded(numbersAsStrings: Bool = false, as form: AnswerForm = AnswerForm()) -> [UInt8] {
        var writer = JSONWriter()
        writer.numbersAsStrings = numbersAsStrings
        writer.hasLiveKeys = form.hasLiveKeys
        writer.errorUUID = form.requestUUID
        write(to: &writer)
        return writer.bytes
    }

    /// Reads a whole body, which may be up to `Limits.messageBytes` long.
    ///
    /// - Throws: `WireError` with `.badRequest`; its reason says what is wrong, at which key path and which byte. The
    ///   reason never holds a value.
    package init(json: [UInt8]) throws(WireError) {
        guard json.count <= Limits.messageBytes else {
            throw WireError(.badRequest, "the body is larger than \(Limits.messageBytes) bytes")
        }
        do {
            self = try json.withUnsafeBufferPointer { (bytes) throws(JSONFault) -> Self in
                var reader = JSONReader(bytes)
                let message = try Self(from: &reader)
                try reader.expectEnd()
                return message
            }
        } catch {
            throw error.wireError(in: json)
        }
    }
}
