// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Hummingbird
import ServiceLifecycle

/// The requests of the demo's page.
struct StageRoutes: Sendable {
    let stage: DemoStage
    let page: StagePage
    let console: ConsoleDoor

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: StageGuard())
        for (path, file, type) in [
            ("/", page.html, "text/html"), ("stage.css", "\(WebFile.stageCss.text)", "text/css"),
            ("stage.js", "\(WebFile.stageJs.text)", "text/javascript"),
        ] {
            router.get(RouterPath(path)) { _, _ in Self.file(file, type) }
        }
        router.get("events") { _, _ in await events() }
        router.get("guest.svg") { _, _ in
            guard let link = await stage.guestLink, let code = QRCode(link) else {
                throw HTTPError(.notFound, message: "The third device is not running.")
            }
            return Self.file(code.svg(title: "Link to the third device"), "image/svg+xml")
        }
        router.get("console") { request, _ in
            let session = try await reporting { try await console.open() }
            // The browser sends the cookie to the name by which it knows this page.
            let host = request.head.authority?.split(separator: ":").first ?? "127.0.0.1"
            return Response(
                status: .seeOther,
                headers: [.location: "http://\(host):\(session.port)/console", .setCookie: session.cookie, .cacheControl: "no-store"])
        }
        router.post("actors/:name/:action") { _, context -> HTTPResponse.Status in
            let (name, action) = (try context.parameters.require("name"), try context.parameters.require("action"))
            try await reporting { try await act(name, action) }
            return .noContent
        }
        router.post("tour/:step") { _, context -> HTTPResponse.Status in
            guard let step = DemoStage.TourStep(rawValue: try context.parameters.require("step", as: Int.self)) else {
                throw HTTPError(.notFound, message: "The tour has the steps 1 to 5.")
            }
            try await reporting { try await stage.perform(step) }
            return .noContent
        }
        return router
    }

    private func act(_ name: String, _ action: String) async throws {
        switch (DemoCast.Device.allCases.first { $0.rawValue == name }, action) {
        case (let device?, "kill"): await stage.kill(device)
        case (let device?, "start"): try await stage.start(device)
        case (let device?, "cut"): try await stage.set(device, isOnline: false)
        case (let device?, "restore"): try await stage.set(device, isOnline: true)
        case (nil, "kill") where name == "server": await stage.killServer()
        case (nil, "start") where name == "server": try await stage.startServer()
        default: throw HTTPError(.notFound, message: "There is no action '\(action)' of '\(name)'.")
        }
    }

    private func events() async -> Response {
        let states = await stage.states()
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                for await state in states.cancelOnGracefulShutdown() {
                    let data = try JSONEncoder().encode(state)
                    try await writer.write(ByteBuffer(string: "event: state\ndata: \(String(decoding: data, as: UTF8.self))\n\n"))
                }
                try await writer.finish(nil)
            })
    }

    private static func file(_ text: String, _ type: String) -> Response {
        Response(
            status: .ok,
            headers: [
                .contentType: "\(type); charset=utf-8", .cacheControl: "no-store", .contentSecurityPolicy: StagePage.policy,
                .xContentTypeOptions: "nosniff",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private func reporting<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as CommandError {
            throw HTTPError(.serviceUnavailable, message: error.description)
        }
    }
}

/// Rejects requests of other sites' pages, which could kill the demo's processes: a request must name this machine as its host, and
/// an action needs a content type that a foreign page cannot send without asking first.
struct StageGuard<Context: RequestContext>: RouterMiddleware {
    func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response {
        let name = (request.head.authority ?? "").split(separator: ":", omittingEmptySubsequences: false).first ?? ""
        guard name == "127.0.0.1" || name == "localhost" else {
            throw HTTPError(.forbidden, message: "Open the demo at http://127.0.0.1.")
        }
        guard request.method == .get || request.headers[.contentType] == "application/json" else {
            throw HTTPError(.unsupportedMediaType, message: "Send application/json.")
        }
        return try await next(request, context)
    }
}
