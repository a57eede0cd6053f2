// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Hummingbird
import Logging

/// One page with both devices on it and the server between them.
struct StagePage: Sendable {
    struct Side: Sendable {
        var name: String
        var address: String
    }

    /// The page's own files, and the devices in frames.
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        + "frame-src http://127.0.0.1:*; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    let sides: [Side]

    /// Names and addresses are this program's own, but are escaped as well.
    var html: String {
        var html = "\(WebFile.stageHtml.text)"
        for side in sides {
            html = html.replacing("{{\(side.name)}}", with: MarkupText.escaped(side.address))
        }
        return html
    }

    /// - Parameter onListening: Called with the port once the page can be opened.
    func application(
        stage: DemoStage, port: Int, onListening: @escaping @Sendable (Int) async -> Void
    ) -> Application<RouterResponder<BasicRequestContext>> {
        let routes = StageRoutes(stage: stage, page: self, console: ConsoleDoor(cast: stage.cast))
        return Application(
            responder: routes.router().buildResponder(),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? port) },
            logger: Logger(label: "tarn.demo") { _ in SwiftLogNoOpLogHandler() })
    }
}
