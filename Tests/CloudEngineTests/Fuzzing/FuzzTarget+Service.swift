// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@testable import CloudEngine
@testable import CloudService
import CloudWire
import SystemSupport

/// Decoders of the service: forms, tokens behind their authentication, and headers.
extension FuzzTarget {
    // MARK: Forms

    /// A form is read alike in one piece and in pieces of any size. The first byte is the size of the pieces.
    static func multipart(_ bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let form = Array(bytes.dropFirst()), size = Int(first) + 1
        let whole = file(in: form, pieces: max(1, form.count)), cut = file(in: form, pieces: size)
        return whole == cut ? nil : "a form in pieces of \(size) bytes has another file"
    }

    /// - Returns: The file; nil for a form that is rejected.
    private static func file(in form: [UInt8], pieces size: Int) -> [UInt8]? {
        guard var reader = try? MultipartReader(contentType: "multipart/form-data; boundary=b") else { return nil }
        var file: [UInt8] = []
        do {
            for start in stride(from: 0, to: form.count, by: size) {
                file += try reader.read(Array(form[start..<min(form.count, start + size)]))
            }
            try reader.checkEnd()
        } catch {
            return nil
        }
        return file
    }

    // MARK: Tokens

    /// Codes that a fuzzer can write: decoders get behind the authentication, which has tests of its own.
    private static let openSealer = Sealer { _ in [UInt8](repeating: 0, count: Sealer.codeBytes) }
    private static let code = [UInt8](repeating: 0, count: Sealer.codeBytes)
    private static let partition = Partition(
        containerIdentifier: "iCloud.org.example.fuzz", environment: .development, scope: .private, owner: "_mia")

    /// The first byte chooses the kind. The rest is the text of a token, or its contents, to which the code is added.
    static func token(_ bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let contents = Array(bytes.dropFirst())
        let isText = first >= 128
        let text = isText ? String(decoding: contents, as: UTF8.self) : Hex.text(contents + code)
        let sealer = openSealer
        switch first % 8 {
        case 0:
            return reopens("change token", try? ChangeToken(opening: text, for: partition, by: sealer)) {
                try? ChangeToken(opening: $0.sealed(for: partition, by: sealer), for: partition, by: sealer)
            }
        case 1: return reopens("web token", WebToken(opening: text, by: sealer)) { WebToken(opening: $0.sealed(by: sealer), by: sealer) }
        case 2:
            return reopens("courier address", try? CourierAddress(opening: text, by: sealer)) {
                try? CourierAddress(opening: $0.sealed(by: sealer), by: sealer)
            }
        case 3:
            return reopens("sign-in flow", SignInFlow(opening: text, now: 0, by: sealer)) {
                SignInFlow(opening: $0.sealed(by: sealer), now: 0, by: sealer)
            }
        case 4:
            let path = isText ? text : String(decoding: contents, as: UTF8.self) + "/" + Hex.text(code)
            return reopens("asset address", try? AssetPath(opening: path, now: 0, by: sealer)) {
                try? AssetPath(opening: $0.sealed(by: sealer), now: 0, by: sealer)
            }
        case 5:
            let marker = isText ? text : Base64.encode(contents + code)
            for keys in 0..<4 {
                // The fingerprint is that of the marker, since a fuzzer does not find it.
                let fingerprint = contents.dropFirst().prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
                let opened = try? ContinuationMarker(opening: marker, for: partition, fingerprint: fingerprint, keys: keys, by: sealer)
                if let complaint = reopens(
                    "continuation marker", opened,
                    {
                        try? ContinuationMarker(
                            opening: $0.sealed(for: partition, by: sealer), for: partition, fingerprint: fingerprint, keys: keys, by: sealer
                        )
                    })
                {
                    return complaint
                }
            }
            return nil
        case 6:
            let link = String(decoding: contents, as: UTF8.self)
            return reopens("share link", ShareLink(link, by: sealer)) { ShareLink($0.text(by: sealer), by: sealer) }
                ?? reopens("one-time link", OneTimeLink(link)) { OneTimeLink($0.text) }
        default:
            let reference = String(decoding: contents, as: UTF8.self)
            return reopens("credential reference", CredentialReference(text: reference[...])) { CredentialReference(text: $0.text[...]) }
        }
    }

    private static func reopens<Token: Equatable>(_ name: String, _ token: Token?, _ again: (Token) -> Token?) -> String? {
        guard let token else { return nil }
        return again(token) == token ? nil : "a \(name) is another after it was written"
    }

    // MARK: Headers and paths

    /// The first byte chooses the decoder.
    static func header(_ bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        func request(_ names: String...) -> ServiceRequest {
            let headers = zip(names, lines).map { ($0.lowercased(), $1) }
            return ServiceRequest(
                method: "POST", path: "/", headers: RequestHeaders(Dictionary(headers) { $1 }), baseURL: "http://tarn.example")
        }
        switch first % 7 {
        case 0:
            let signed = try? SignedRequest(request(HeaderNames.requestKeyID, HeaderNames.requestDate, HeaderNames.requestSignature))
            guard let signed else { return nil }
            _ = signed.messages(path: "/", body: [], hash: { $0 })
            guard let time = signed.milliseconds else { return nil }
            // Four digits of a year.
            return abs(time) < 400_000_000_000_000 ? nil : "a date of the years 0 to 9999 is at \(time)"
        case 1:
            let decoded = QueryItems.decode(text)
            guard let decoded else { return nil }
            _ = QueryItems(text)
            return QueryItems.decode(QueryItems.encode(decoded)) == decoded ? nil : "an item of a query is another after it was encoded"
        case 2:
            if let path = try? ServicePath(parsing: text), (try? ServicePath(parsing: path.path)) != path {
                return "a path is another after it was written"
            }
            if let path = try? DevicePath(parsing: text), (try? DevicePath(parsing: path.path)) != path {
                return "a device's path is another"
            }
            _ = DevicePath.isOne(text)
            return nil
        case 3:
            for size in [0, 1, 10, Int64.max] {
                _ = ByteRange.beginsBehind(text, size: size)
                guard let range = ByteRange.parse(text, size: size) else { continue }
                if range.isEmpty || range.lowerBound < 0 || range.upperBound > size { return "the range \(range) is not of \(size) bytes" }
            }
            return nil
        case 4:
            let request = request(UploadHeaders.offset, UploadHeaders.isComplete, UploadHeaders.digest)
            if let part = try? UploadHeaders.part(request), part.offset < 0 { return "an upload goes on at \(part.offset)" }
            _ = try? UploadHeaders.digest(request)
            return nil
        case 5:
            let capabilities = Capability.parse(text)
            return Capability.parse(Capability.headerValue(capabilities)) == capabilities
                ? nil : "capabilities are others after they were written"
        default:
            if let token = HeaderNames.token(inAuthorization: text), token.isEmpty { return "a token is empty" }
            return nil
        }
    }
}
