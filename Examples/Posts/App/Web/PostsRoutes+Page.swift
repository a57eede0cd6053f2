// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Hummingbird

extension PostsRoutes {
    private static let files = [
        "index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript", "board.js": "text/javascript",
        "conflicts.js": "text/javascript", "dom.js": "text/javascript", "examples.js": "text/javascript",
    ]

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
