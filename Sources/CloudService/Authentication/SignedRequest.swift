// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The parts of a request that a server-to-server key signs: `{date}:{hash of the body}:{path}`.
///
/// Source: *CloudKit Web Services Reference*, "Authenticate Web Service Requests".
struct SignedRequest: Hashable, Sendable {
    var keyID: String
    var date: String
    /// ASN.1 DER.
    var signature: [UInt8]

    /// - Returns: Nil if the request has none of the three headers.
    /// - Throws: `WireError` with `.authenticationFailed` if one is missing, or the signature has another form.
    init?(_ request: ServiceRequest) throws(WireError) {
        let keyID = request.header(HeaderNames.requestKeyID)
        let date = request.header(HeaderNames.requestDate)
        let signature = request.header(HeaderNames.requestSignature)
        if keyID == nil, date == nil, signature == nil { return nil }
        guard let keyID, let date, let signature else {
            let missing = [
                keyID == nil ? HeaderNames.requestKeyID : nil, date == nil ? HeaderNames.requestDate : nil,
                signature == nil ? HeaderNames.requestSignature : nil,
            ].compactMap(\.self)
            throw WireError(
                .authenticationFailed, "the signed request lacks \(missing.joined(separator: " and ")): it has key, date and signature")
        }
        self.keyID = keyID
        self.date = date
        self.signature = try Self.bytes(ofSignature: signature)
    }

    /// - Throws: `WireError` that says in which other form the signature is.
    private static func bytes(ofSignature text: String) throws(WireError) -> [UInt8] {
        let form = "the signature is not ASN.1 DER in base64"
        guard let bytes = Base64.decode(text) else {
            let isURLForm = text.utf8.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
            let what = isURLForm ? "it is base64url. Use + and / instead of - and _, and pad with =." : "it is not base64."
            throw WireError(.authenticationFailed, "\(form): \(what)")
        }
        guard isDER(bytes) else {
            let what =
                bytes.count == 64
                ? "64 bytes are the raw form, r followed by s. Encode both in DER." : "\(bytes.count) bytes that are not DER."
            throw WireError(.authenticationFailed, "\(form): \(what)")
        }
        return bytes
    }

    /// Whether bytes are a sequence of two integers, as an ECDSA signature is.
    ///
    /// Source: RFC 3279, section 2.2.3.
    private static func isDER(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 8, bytes.count <= 72, bytes[0] == 0x30, Int(bytes[1]) == bytes.count - 2, bytes[2] == 0x02 else {
            return false
        }
        let second = 4 + Int(bytes[3])
        return bytes[3] > 0 && second + 2 < bytes.count && bytes[second] == 0x02 && second + 2 + Int(bytes[second + 1]) == bytes.count
    }

    /// The possible signed messages. For requests without a body, published clients sign either the hash of nothing or nothing.
    func messages(path: String, body: [UInt8], hash: ([UInt8]) -> [UInt8]) -> [[UInt8]] {
        let hashed = Array("\(date):\(Base64.encode(hash(body))):\(path)".utf8)
        return body.isEmpty ? [hashed, Array("\(date)::\(path)".utf8)] : [hashed]
    }

    /// The date in milliseconds since 1970, to the second; nil for an invalid date.
    ///
    /// The reference has `2030-01-02T03:04:05Z`. Default formats of libraries are read as well: fractions of a
    /// second, an offset, and no zone at all for UTC.
    var milliseconds: Int64? {
        let bytes = Array(date.utf8)
        guard bytes.count >= 19, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]),
            let second = number(bytes[17..<19]), (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
            second <= 60, let offset = offsetMinutes(bytes[19...])
        else { return nil }
        // Days since 1970 in the Gregorian calendar, counted in years that begin in March.
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return (((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1000
    }

    /// - Parameter text: What follows the seconds.
    private func offsetMinutes(_ text: ArraySlice<UInt8>) -> Int64? {
        var text = text
        if text.first == UInt8(ascii: ".") {
            let fraction = text.dropFirst().prefix { (48...57).contains($0) }
            if fraction.isEmpty { return nil }
            text = text[fraction.endIndex...]
        }
        guard let sign = text.popFirst() else { return 0 }
        if sign == UInt8(ascii: "Z") { return text.isEmpty ? 0 : nil }
        let digits = text.filter { $0 != UInt8(ascii: ":") }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), digits.count == 4, let hours = number(digits[0..<2]),
            let minutes = number(digits[2..<4]),
            hours < 24, minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }

    private func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        digits.reduce(0 as Int64?) { sum, digit in
            guard let sum, (48...57).contains(digit) else { return nil }
            return sum * 10 + Int64(digit - 48)
        }
    }
}
