// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Hummingbird

extension PostsRoutes {
    func addSharing(_ cloud: CloudParts, to router: Router<BasicRequestContext>) {
        router.post("posts/:id/share") { _, context in
            let id = try context.parameters.require("id")
            return try await answering { try await cloud.sharing.share(id) }
        }
        router.post("shares") { request, context -> HTTPResponse.Status in
            let input = try await request.decode(as: ShareMessage.self, context: context)
            try await answering { try await cloud.sharing.accept(input.link) }
            return .noContent
        }
        router.post("board") { request, context -> HTTPResponse.Status in
            let input = try await request.decode(as: NoticeInput.self, context: context)
            try await answering { try await cloud.board.add(input.text) }
            return .noContent
        }
        router.delete("board/:id") { _, context -> HTTPResponse.Status in
            let id = try context.parameters.require("id")
            try await answering { try await cloud.board.delete(id) }
            return .noContent
        }
    }
}

extension ShareMessage: ResponseEncodable {}
