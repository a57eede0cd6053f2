// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Uploads in parts.
///
/// | request on the address of an upload | answer |
/// |---|---|
/// | `HEAD` | 204 with `Upload-Offset`, and whether the upload is complete |
/// | `PATCH` with `Upload-Offset` and `Upload-Complete` | 204 with the new offset; 200 with the receipt once it is complete; 409 with the offset where the part does not begin there |
///
/// Source: the IETF draft *Resumable Uploads for HTTP*; RFC 9530 for digests.
struct ResumedUploads: ServiceSubject {
    let core: ServiceCore
    let assets: any AssetStorage
    let reservations: UploadReservations

    func respond(to request: ServiceRequest, _ path: AssetPath, at now: Int64) async throws -> ServiceResponse {
        let progress: UploadProgress?
        if request.method == "HEAD" {
            progress = try await assets.progress(ofUpload: path.file, in: path.partition)
        } else {
            let engine = engine
            let left = try await storage.read(path.partition) { try engine.quotas.uploadBytesLeft(of: path.partition, in: $0) }
            let part = try UploadHeaders.part(request)
            // The stored part of the file counts against the quota already.
            let room = left.map { $0.addingReportingOverflow(part.offset).partialValue } ?? .max
            let length = request.header("content-length").flatMap(Int64.init) ?? engine.limits.assetBytes
            progress = try await reservations.withRoom(room, of: engine.limits.assetBytes) {
                try await reservations.reserving(min(max(0, length), engine.limits.assetBytes), of: left, in: path.partition) {
                    try await assets.receive(
                        request.pieces, as: part, forUpload: path.file, in: path.partition,
                        bytesMax: min(engine.limits.assetBytes, max(0, room)), at: now,
                        isOverQuota: { try engine.quotas.isOverQuota(path.partition, in: $0) })
                }
            }
        }
        guard let progress else { throw WireError(.notFound, "no such upload was asked for") }
        switch progress {
        case .partial(let bytes):
            return UploadHeaders.answer(offset: bytes, isComplete: false)
        case .misplaced(let bytes):
            var answer = UploadHeaders.answer(offset: bytes, isComplete: false)
            answer.status = 409
            answer.headers.append((HeaderNames.contentType, HeaderNames.json))
            answer.body = .bytes(WireError(.conflict, "the part does not begin where the upload is").encoded())
            answer.errorCode = WireError.Code.conflict.rawValue
            return answer
        case .complete(let asset):
            var answer = UploadHeaders.answer(offset: asset.size, isComplete: true)
            guard request.method != "HEAD" else { return answer }
            let receipt = AssetUploadReceipt(checksum: asset.checksum, size: asset.size, receipt: path.file)
            answer.status = 200
            answer.headers.append((HeaderNames.contentType, HeaderNames.json))
            answer.body = .bytes(receipt.encoded())
            return answer
        }
    }
}

/// The headers of uploads in parts, and of digests.
enum UploadHeaders {
    static let offset = "Upload-Offset"
    static let isComplete = "Upload-Complete"
    static let digest = "Repr-Digest"

    static func answer(offset: Int64, isComplete: Bool) -> ServiceResponse {
        ServiceResponse(
            status: 204,
            headers: [
                (Self.offset, String(offset)), (Self.isComplete, isComplete ? "?1" : "?0"), ("Cache-Control", "no-store"),
            ], body: .bytes([]), endpoint: "asset/upload")
    }

    static func part(_ request: ServiceRequest) throws(WireError) -> UploadPart {
        guard let offset = request.header(offset).flatMap(Int64.init), offset >= 0 else {
            throw WireError(.badRequest, "a part of an upload has an Upload-Offset")
        }
        guard let flag = request.header(isComplete), flag == "?1" || flag == "?0" else {
            throw WireError(.badRequest, "a part of an upload says by Upload-Complete, ?1 or ?0, whether it is the last")
        }
        return UploadPart(offset: offset, isLast: flag == "?1", digest: try digest(request))
    }

    /// The SHA-256 of the file in the header; nil without one, or for another digest.
    static func digest(_ request: ServiceRequest) throws(WireError) -> [UInt8]? {
        let name = "sha-256="
        guard let header = request.header(digest),
            let item = header.split(separator: ",").map({ $0.drop { $0 == " " } }).first(where: { $0.hasPrefix(name) })
        else { return nil }
        let text = item.dropFirst(name.count)
        guard text.count > 2, text.first == ":", text.last == ":", let bytes = Base64.decode(String(text.dropFirst().dropLast())),
            bytes.count == 32
        else { throw WireError(.badRequest, "the Repr-Digest is unreadable") }
        return bytes
    }

    static func text(ofDigest bytes: [UInt8]) -> String { "sha-256=:\(Base64.encode(bytes)):" }
}
