// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The keys of an error dictionary, which are members of an item, or alone.
struct ErrorKeys {
    private var code: String?
    private var reason: String?
    private var uuid: String?
    private var retryAfter: Double?
    private var nativeCode: AppErrorCode?
    private var redirectURL: String?
    private var didResetEncryptedData = false
    private var isHistoryLost = false
    private var restoredChangeTag: String?

    /// Reads the value of a key, if it is a key of an error.
    mutating func decode(_ key: JSONKey, from reader: inout JSONReader) throws(JSONFault) -> Bool {
        switch key {
        case "serverErrorCode": code = try reader.readString()
        case "reason": reason = try reader.readString()
        case "uuid": uuid = try reader.readString()
        case "retryAfter": retryAfter = try reader.readDouble()
        case "nativeErrorCode":
            let code = AppErrorCode(rawValue: try reader.readInt())
            nativeCode = code.flatMap { AppErrorCode.withoutWireCode.contains($0) ? $0 : nil }
        case "redirectURL": redirectURL = try reader.readString()
        case "didResetEncryptedData": didResetEncryptedData = try reader.readFlag()
        case "historyLost": isHistoryLost = try reader.readFlag()
        case "restoredChangeTag": restoredChangeTag = try reader.readString()
        default: return false
        }
        return true
    }

    /// The error, if there is a code: only the code distinguishes an error from a result. An unknown code counts as a
    /// failure of the server, and the reason names it.
    var error: WireError? {
        guard let code else { return nil }
        let knownCode = WireError.Code(rawValue: code)
        let text = reason ?? "the server gave no reason"
        var error = WireError(
            knownCode ?? .internalError, knownCode == nil ? "\(code): \(text)" : text, retryAfter: retryAfter,
            nativeCode: nativeCode)
        error.uuid = uuid
        error.redirectURL = redirectURL
        error.didResetEncryptedData = didResetEncryptedData
        error.isHistoryLost = isHistoryLost
        error.restoredChangeTag = restoredChangeTag
        return error
    }
}

extension WireError: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var keys = ErrorKeys()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try !keys.decode(key, from: &reader) { try reader.skipValue() }
        }
        self = try keys.error.required("the error has no serverErrorCode", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.member("uuid", uuid ?? writer.errorUUID)
        writer.member("serverErrorCode", code.rawValue)
        writer.member("reason", reason)
        if let retryAfter, let whole = Int64(exactly: retryAfter) {
            writer.member("retryAfter", whole)
        } else {
            writer.member("retryAfter", retryAfter)
        }
        if !writer.isDocumentedOnly { writer.member("nativeErrorCode", nativeCode?.rawValue) }
        writer.member("redirectURL", redirectURL)
        if writer.isDocumentedOnly { return }
        if didResetEncryptedData { writer.member("didResetEncryptedData", true) }
        if isHistoryLost { writer.member("historyLost", true) }
        writer.member("restoredChangeTag", restoredChangeTag)
    }
}
