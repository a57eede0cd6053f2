// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Hummingbird
import Logging

/// One page with both devices on it, side by side.
struct StagePage: Sendable {
    struct Side: Sendable {
        var name: String
        var address: String
    }

    let sides: [Side]
    let server: String

    /// - Parameter onListening: Called with the port once the page can be opened.
    func application(port: Int, onListening: @escaping @Sendable (Int) async -> Void) -> Application<RouterResponder<BasicRequestContext>> {
        let router = Router()
        router.get("/") { _, _ in
            Response(
                status: .ok,
                headers: [
                    .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
                    .contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src http://127.0.0.1:*",
                ],
                body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
        }
        return Application(
            responder: router.buildResponder(), configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? port) },
            logger: Logger(label: "tarn.demo") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Escapes text for HTML. Names and addresses are this program's own, but are escaped as well.
    var html: String {
        let frames = sides.map { side in
            """
            <figure class="device \(MarkupText.escaped(side.name.lowercased()))">
              <iframe src="\(MarkupText.escaped(side.address))" title="\(MarkupText.escaped(side.name))"></iframe>
              <figcaption>\(MarkupText.escaped(side.name))</figcaption>
            </figure>
            """
        }
        return Self.template
            .replacing("{{frames}}", with: frames.joined(separator: "\n"))
            .replacing("{{server}}", with: MarkupText.escaped(server))
    }

    private static let template = """
        <!doctype html>
        <html lang="en">
        <head>
          <meta charset="utf-8">
          <meta name="viewport" content="width=device-width, initial-scale=1">
          <meta name="color-scheme" content="light dark">
          <title>Posts on two devices</title>
          <link rel="icon" href="data:,">
          <style>
            :root { --ground: #dfe5e4; --ink: #1d2427; --quiet: #57646a; --bezel: #22292c; }
            html { font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
            @media (prefers-color-scheme: dark) { :root { --ground: #0c1011; --ink: #e6ebeb; --quiet: #97a4a8; --bezel: #333d41; } }
            * { box-sizing: border-box; }
            body { margin: 0; min-height: 100vh; padding: 1.2rem clamp(.6rem, 3vw, 2.4rem) 1.6rem; background: var(--ground); color: var(--ink);
                   display: flex; flex-direction: column; gap: 1.1rem; }
            h1 { font-size: 1.15rem; font-weight: 650; margin: 0; }
            header p { margin: .15rem 0 0; color: var(--quiet); max-width: 46rem; }
            main { flex: 1; display: flex; flex-wrap: wrap; justify-content: center; gap: 1.2rem clamp(1rem, 3vw, 2.6rem); }
            figure { margin: 0; display: flex; flex-direction: column; gap: .5rem; align-items: center; }
            figcaption { color: var(--quiet); font-size: .86rem; }
            iframe { border: 0; width: 100%; flex: 1; background: Canvas; display: block; }
            .device iframe { outline: solid var(--bezel); box-shadow: 0 14px 34px rgb(0 0 0 / .18); }
            .ipad { flex: 1 1 40rem; max-width: 58rem; padding: 16px 16px 0; }
            .ipad iframe { outline-width: 16px; border-radius: 12px; min-height: min(44rem, calc(100vh - 11rem)); }
            .ipad figcaption, .iphone figcaption { margin-top: 16px; }
            .iphone { flex: 0 1 24.4rem; min-width: min(20rem, 100%); padding: 11px 11px 0; }
            .iphone iframe { outline-width: 11px; border-radius: 30px; min-height: min(44rem, calc(100vh - 11rem)); }
          </style>
        </head>
        <body>
          <header>
            <h1>Posts on two devices</h1>
            <p>Two processes with a store each, and a server between them at {{server}}. A change on one side appears on the other by itself.</p>
          </header>
          <main>
        {{frames}}
          </main>
        </body>
        </html>
        """
}
