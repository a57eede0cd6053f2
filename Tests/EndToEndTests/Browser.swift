// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import Foundation
import NIOCore

@testable import TarnCommands

/// The work of a browser: runs the script of a page, or only requests a page.
enum Browser {
    /// `make test` says which Python has Playwright, and then the test must run.
    private static let chosenPython = ProcessInfo.processInfo.environment["TARN_PAGE_PYTHON"]

    static func isThere() async -> Bool {
        if chosenPython != nil { return true }
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/chromium"), let folder = try? Folder(),
            let python = try? ChildProcess(
                "python", program: URL(fileURLWithPath: "/usr/bin/env"), arguments: ["python3", "-c", "import playwright"],
                log: URL(fileURLWithPath: folder.path("python.log")))
        else { return false }
        return await python.ended() == 0
    }

    static func demo(in folder: Folder) throws -> ChildProcess {
        try ChildProcess(
            "tarn", program: Programs.folder.appendingPathComponent("tarn"),
            arguments: ["demo", "--port", "0", "--data", folder.path("demo"), "--exit-with-parent"],
            log: URL(fileURLWithPath: folder.path("demo.log")))
    }

    /// Screenshots go to `TARN_SCREENSHOTS`, or away with the test's folder.
    static func run(stage: String, in folder: Folder) async throws -> Programs.Ended {
        try await run("page_test.py", [stage], in: folder)
    }

    /// Runs a script with its arguments and a folder for screenshots.
    static func run(_ name: String, _ arguments: [String], in folder: Folder) async throws -> Programs.Ended {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Page/\(name)").path
        let screenshots = ProcessInfo.processInfo.environment["TARN_SCREENSHOTS"] ?? folder.path("screenshots")
        let log = URL(fileURLWithPath: folder.path("page.log"))
        let child = try ChildProcess(
            "page", program: URL(fileURLWithPath: "/usr/bin/env"),
            arguments: [chosenPython ?? "python3", script] + arguments + [screenshots], log: log)
        return try await within(.seconds(240), "the page test did not end") {
            let output = await child.everything()
            return Programs.Ended(
                status: await child.ended(), output: output, complaint: (try? String(contentsOf: log, encoding: .utf8)) ?? "")
        }
    }

    static func text(of address: String) async throws -> String {
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: address), timeout: .seconds(120))
        return String(decoding: try await response.body.collect(upTo: 1 << 20).readableBytesView, as: UTF8.self)
    }

    /// A device's stream of events, after the first of them.
    static func events(of device: String) async throws -> HTTPClientResponse.Body.AsyncIterator {
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: "\(device)/events"), timeout: .minutes(2))
        var events = response.body.makeAsyncIterator()
        _ = try await events.next()
        return events
    }

    /// - Throws: ``HTTPClientError/deadlineExceeded`` if the stream goes on.
    static func waitForTheEnd(of events: inout HTTPClientResponse.Body.AsyncIterator) async throws {
        do {
            while try await events.next() != nil {}
        } catch let error as HTTPClientError where error == .deadlineExceeded {
            throw error
        } catch {
            // A connection that breaks has ended, too.
        }
    }
}
