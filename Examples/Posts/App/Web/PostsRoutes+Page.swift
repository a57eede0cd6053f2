// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Hummingbird

extension PostsRoutes {
    private static let files = ["index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"]

    /// The page's files, from the folder that comes with the program.
    func addPage(to router: Router<BasicRequestContext>) {
        for (name, type) in Self.files {
            router.get(RouterPath(name == "index.html" ? "/" : name)) { _, _ in
                guard let url = Bundle.module.url(forResource: "Page/\(name)", withExtension: nil), let data = try? Data(contentsOf: url)
                else { throw HTTPError(.notFound, message: "The page's file \(name) is missing beside the program.") }
                return Response(
                    status: .ok,
                    headers: [
                        .contentType: "\(type); charset=utf-8", .cacheControl: "no-cache",
                        .contentSecurityPolicy:
                            "default-src 'self'; img-src 'self' data:; frame-ancestors http://127.0.0.1:* http://localhost:*",
                    ],
                    body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
            }
        }
    }

    /// An answer with a picture, whose kind is told by its first bytes. What is no known picture is not shown as one.
    func image(_ data: Data?) throws -> Response {
        guard let data else { throw HTTPError(.notFound, message: "There is no picture here.") }
        return Response(
            status: .ok,
            headers: [.contentType: PictureKind.mediaType(of: data), .cacheControl: "no-cache", .xContentTypeOptions: "nosniff"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }
}

enum PictureKind {
    /// Pictures without scripts in them; everything else is just bytes.
    static func mediaType(of data: Data) -> String {
        func starts(with bytes: [UInt8], at offset: Int = 0) -> Bool { data.dropFirst(offset).starts(with: bytes) }
        if starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "image/png" }
        if starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if starts(with: Array("GIF8".utf8)) { return "image/gif" }
        if starts(with: Array("RIFF".utf8)), starts(with: Array("WEBP".utf8), at: 8) { return "image/webp" }
        return "application/octet-stream"
    }
}

/// Keeps pages of other sites away from the device: a browser that shows one may reach this machine, too.
///
/// A request must name this machine as its host, which defeats names that were made to point here. A request that
/// changes something must have a kind of body that a foreign page cannot send without asking first.
struct LocalOnly<Context: RequestContext>: RouterMiddleware {
    func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response {
        let authority = request.head.authority ?? ""
        let host = authority.split(separator: ":", omittingEmptySubsequences: false).first.map(String.init) ?? ""
        guard host == "127.0.0.1" || host == "localhost" else {
            throw HTTPError(.forbidden, message: "Open this device at http://127.0.0.1.")
        }
        if request.method == .post {
            let type = request.headers[.contentType]?.split(separator: ";").first.map { $0.lowercased() } ?? ""
            guard type == "application/json" || type == "application/octet-stream" else {
                throw HTTPError(.unsupportedMediaType, message: "Send application/json, or application/octet-stream for a picture.")
            }
        }
        return try await next(request, context)
    }
}
