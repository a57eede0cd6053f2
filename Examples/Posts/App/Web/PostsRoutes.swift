// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Hummingbird
import ServiceLifecycle

/// The page's small interface: what it may ask of its device, and the stream of what happens.
struct PostsRoutes: Sendable {
    private static let pictureBytesMax = 32 << 20
    private static let samplesMax = 10_000

    let library: PostLibrary
    let feed: PostFeed
    let network: DeviceNetwork
    let conflicts: ConflictShelf
    /// nil for a mirrored store.
    let cloud: CloudParts?
    let access: PageAccess

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: PageGuard(access: access))
        addPage(to: router)
        router.get("events") { _, _ in await events() }
        addPosts(to: router)
        addTrash(to: router)
        addTags(to: router)
        addPictures(to: router)
        addConflicts(to: router)
        if let cloud {
            addArchives(cloud.archives, to: router)
            addSharing(cloud, to: router)
        }
        router.post("network") { request, context -> HTTPResponse.Status in
            let input = try await request.decode(as: NetworkInput.self, context: context)
            await feed.show(network.set(isOnline: input.online))
            if input.online { await library.syncSoon() }
            return .noContent
        }
        return router
    }

    private func events() async -> Response {
        let events = await feed.subscribe()
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                for await event in events.cancelOnGracefulShutdown() { try await writer.write(ByteBuffer(string: event)) }
                try await writer.finish(nil)
            })
    }

    private func addPosts(to router: Router<BasicRequestContext>) {
        router.post("posts") { request, context in
            let input = try await request.decode(as: PostInput.self, context: context)
            return try await answering { try await library.addPost(title: input.title ?? "", content: input.content ?? "") }
        }
        router.patch("posts/:id") { request, context in
            let id = try context.parameters.require("id")
            let input = try await request.decode(as: PostInput.self, context: context)
            return try await answering { try await library.changePost(id, input) }
        }
        router.post("deletions") { request, context -> HTTPResponse.Status in
            let input = try await request.decode(as: DeletionInput.self, context: context)
            try await answering { try await library.delete(posts: input.posts, tags: input.tags) }
            return .noContent
        }
        router.post("samples") { request, context in
            let input = try await request.decode(as: SamplesInput.self, context: context)
            guard 1...Self.samplesMax ~= input.count else {
                throw HTTPError(.badRequest, message: "Between 1 and \(Self.samplesMax) sample posts can be made at once.")
            }
            return try await answering { try await library.addSamples(count: input.count, title: input.title) }
        }
    }

    private func addTrash(to router: Router<BasicRequestContext>) {
        router.put("trash/:id") { _, context -> HTTPResponse.Status in
            let id = try context.parameters.require("id")
            try await answering { try await library.moveToTrash(posts: [id]) }
            return .noContent
        }
        router.delete("trash/:id") { _, context -> HTTPResponse.Status in
            let id = try context.parameters.require("id")
            try await answering { try await library.restore(posts: [id]) }
            return .noContent
        }
        router.delete("trash") { _, _ -> HTTPResponse.Status in
            try await answering { try await library.emptyTrash() }
            return .noContent
        }
    }

    private func addTags(to router: Router<BasicRequestContext>) {
        router.post("tags") { request, context in
            let input = try await request.decode(as: TagInput.self, context: context)
            return try await answering { try await library.addTag(name: input.name ?? "", color: input.color ?? "") }
        }
        router.patch("tags/:id") { request, context in
            let id = try context.parameters.require("id")
            let input = try await request.decode(as: TagInput.self, context: context)
            return try await answering { try await library.changeTag(id, name: input.name, color: input.color) }
        }
        router.delete("tags/:id") { _, context -> HTTPResponse.Status in
            let id = try context.parameters.require("id")
            try await answering { try await library.delete(tags: [id]) }
            return .noContent
        }
        for (method, isOn) in [(HTTPRequest.Method.put, true), (.delete, false)] {
            router.on("posts/:id/tags/:tag", method: method) { _, context -> HTTPResponse.Status in
                let id = try context.parameters.require("id")
                let tag = try context.parameters.require("tag")
                try await answering { try await library.setTag(tag, of: id, isOn: isOn) }
                return .noContent
            }
        }
    }

    private func addConflicts(to router: Router<BasicRequestContext>) {
        router.post("conflicts/:id/restoration") { _, context -> HTTPResponse.Status in
            let id = try context.parameters.require("id", as: Int.self)
            try await answering { try await conflicts.restore(id) }
            return .noContent
        }
        router.delete("conflicts/:id") { _, context -> HTTPResponse.Status in
            let id = try context.parameters.require("id", as: Int.self)
            try await answering { try await conflicts.dismiss(id) }
            return .noContent
        }
    }

    private func addArchives(_ archives: ArchiveShelf, to router: Router<BasicRequestContext>) {
        router.get("archives") { _, _ in try await answering { try await archives.list() } }
        router.post("archives/:name/restoration") { request, context -> HTTPResponse.Status in
            let name = try context.parameters.require("name")
            let input = try await request.decode(as: ArchiveInput.self, context: context)
            try await answering { try await archives.restore(name, isOwn: input.isOwn) }
            return .noContent
        }
        router.delete("archives/:name") { _, context -> HTTPResponse.Status in
            let name = try context.parameters.require("name")
            try await answering { try await archives.remove(name) }
            return .noContent
        }
        router.delete("account-change") { _, _ -> HTTPResponse.Status in
            try await answering { try await archives.acknowledgeChanges() }
            return .noContent
        }
    }

    private func addPictures(to router: Router<BasicRequestContext>) {
        // The body is the thumbnail and the picture, one after the other; the query says how long the first is.
        router.post("posts/:id/attachments") { request, context in
            let id = try context.parameters.require("id")
            let name = request.uri.queryParameters["name"].map(String.init) ?? ""
            let length = request.uri.queryParameters["thumbnail"].flatMap { Int($0) } ?? 0
            let body = Data(try await request.body.collect(upTo: Self.pictureBytesMax).readableBytesView)
            guard 0...body.count ~= length else {
                throw HTTPError(.badRequest, message: "The thumbnail is said to be longer than what was sent.")
            }
            let thumbnail = length > 0 ? Data(body.prefix(length)) : nil
            return try await answering {
                try await library.attach(Data(body.dropFirst(length)), thumbnail: thumbnail, name: name, to: id)
            }
        }
        router.get("attachments/:id/image") { _, context in
            let id = try context.parameters.require("id")
            return try await image(answering { try await library.picture(of: id) })
        }
        router.get("attachments/:id/thumbnail") { _, context in
            let id = try context.parameters.require("id")
            return try await image(answering { try await library.thumbnail(of: id) })
        }
        router.delete("attachments/:id") { _, context -> HTTPResponse.Status in
            let id = try context.parameters.require("id")
            try await answering { try await library.deleteAttachment(id) }
            return .noContent
        }
    }

    /// Says in words what the library could not do.
    func answering<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as ArchiveOfAnotherAccount {
            throw HTTPError(.conflict, message: error.reason)
        } catch is ArchiveBusy {
            throw HTTPError(.conflict, message: "An archive is being restored. Try again when it is there.")
        } catch is ShareUnavailable {
            throw HTTPError(.badRequest, message: "This isn't the link of a shared post, or the post isn't yours to share.")
        } catch is PostMissing {
            throw HTTPError(.notFound, message: "This is not there any more; it may have been deleted on another device.")
        } catch {
            throw HTTPError(.internalServerError, message: error.localizedDescription)
        }
    }
}

extension PostSaved: ResponseEncodable {}
extension SamplesSaved: ResponseEncodable {}
extension TagMessage: ResponseEncodable {}
extension ArchiveMessage: ResponseEncodable {}
extension AttachmentMessage: ResponseEncodable {}
