// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import ArgumentParser
import CloudKit
import CoreData
import Foundation
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import TarnMirror

/// `posts`: one device with a store of its own, and its page.
public struct PostsCommand: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "posts",
        abstract: "The sample app: one device with its own store, which syncs through a tarn server.",
        discussion: """
            Set TARN_SERVER to the server's address and TARN_TOKEN to the token that 'tarn user add' printed. Without \
            them, or while the server cannot be reached, the app works on with what is stored here.

            Once its page can be opened it prints one line: 'posts: NAME at http://127.0.0.1:PORT'.
            """)

    @Option(help: "What to call this device.")
    var name = "Device"
    @Option(help: ArgumentHelp("Folder for the device's store.", valueName: "folder"))
    var store = "posts-data"
    @Option(help: ArgumentHelp("Port of the page; 0 lets the system choose.", valueName: "port"))
    var port = 8401
    @Option(
        help: ArgumentHelp(
            "Address of the page. For another than 127.0.0.1, the environment has the key of the page's link: POSTS_KEY.",
            valueName: "address"))
    var host = "127.0.0.1"
    @Option(help: ArgumentHelp("The server's address, instead of TARN_SERVER.", valueName: "url"))
    var server: String?
    @Option(
        help: ArgumentHelp(
            "Version of the app's model, 1 or 2: the second has a headline and a subtitle, and no title.", valueName: "number")
    )
    var appVersion = 1
    @Flag(help: "Sync by NSPersistentContainer and TarnMirror, as an app on an iPhone does. It has neither shares nor the public board.")
    var mirror = false
    @Flag(help: ArgumentHelp("End when standard input ends.", visibility: .hidden))
    var exitWithParent = false

    public init() {}

    /// Runs the command that the process was started with, and ends the process with its exit code if it fails.
    public static func main() async { await main(nil) }

    public func validate() throws {
        guard 0...65535 ~= port else { throw ValidationError("A port is a number from 0 to 65535.") }
        guard AppVersion(rawValue: appVersion) != nil else { throw ValidationError("--app-version is 1 or 2.") }
        guard !mirror || appVersion == 1 else {
            throw ValidationError("TarnMirror does not support lenses, which version 2 has: leave --mirror or --app-version out.")
        }
        guard host == "127.0.0.1" || ProcessInfo.processInfo.environment["POSTS_KEY"]?.isEmpty == false else {
            throw ValidationError("Other devices could change posts at \(host): set POSTS_KEY to a secret, and open /?key=SECRET there.")
        }
    }

    public func run() async throws {
        if exitWithParent { Parent.exitWhenGone() }
        do {
            try await runDevice()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw CommandProblem("Port \(port) is in use: choose another with --port, or 0 to let the system choose.")
        } catch let error as IOError where error.errnoCode == EACCES {
            throw CommandProblem("Port \(port) is not allowed to you: choose one above 1023 with --port.")
        } catch let error as CocoaError {
            throw CommandProblem(error.localizedDescription)
        }
    }

    private func runDevice() async throws {
        let environment = ProcessInfo.processInfo.environment
        let network = try await DeviceNetwork.open(to: server ?? environment["TARN_SERVER"])
        if let address = network.address {
            CKContainer.configure(CKContainer.Configuration(server: address, token: environment["TARN_TOKEN"].map { .init($0) }))
        }
        let device = try await open(network)
        let feed = try await PostFeed(device, name: name, network: network.message)
        let library = await PostLibrary(device, feed)
        let conflicts = await ConflictShelf(device, library, feed)
        var services: [any Service] = [
            NetworkService(network: network), TrafficWatch(network: network, feed: feed), PageBeat(feed: feed),
        ]
        var parts: CloudParts?
        switch device {
        case .cloud(let container, _):
            let cloud = try await CloudParts(container, library, feed)
            parts = cloud
            services += [
                SyncWatch(container: container, feed: feed),
                EventWatch(container: container, feed: feed, conflicts: conflicts, sharing: cloud.sharing),
            ]
        case .mirrored(_, let mirror): services.append(MirrorWatch(mirror: mirror, feed: feed, conflicts: conflicts))
        }
        let routes = PostsRoutes(
            library: library, feed: feed, network: network, conflicts: conflicts, cloud: parts,
            access: PageAccess(host: host, key: environment["POSTS_KEY"]))
        let application = Application(
            router: routes.router(), configuration: ApplicationConfiguration(address: .hostname(host, port: port)), services: services,
            onServerRunning: { [name, host] channel in
                let line = "posts: \(name) at http://\(host):\(channel.localAddress?.port ?? 0)\n"
                FileHandle.standardOutput.write(Data(line.utf8))
            },
            logger: Logger(label: "posts") { _ in SwiftLogNoOpLogHandler() })
        try await application.runService()
    }

    private func open(_ network: DeviceNetwork) async throws -> PostsDevice {
        let folder = URL(fileURLWithPath: store, isDirectory: true)
        guard mirror else {
            let version = AppVersion(rawValue: appVersion) ?? .first
            return .cloud(try await PostsStack.load(storeIn: folder, version: version), version)
        }
        guard let address = network.address, let token = ProcessInfo.processInfo.environment["TARN_TOKEN"] else {
            throw CommandProblem("A mirror needs a server: set TARN_SERVER to its address, and TARN_TOKEN to the token of a device.")
        }
        do {
            return try await PostsStack.loadMirrored(storeIn: folder, server: address, token: token)
        } catch let failure as TarnMirror.Failure {
            throw CommandProblem("The posts cannot be mirrored: \(failure.reason).")
        }
    }
}

/// The relay, for as long as the app runs.
private struct NetworkService: Service {
    let network: DeviceNetwork

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await network.run() }
        // Without a relay there is nothing to carry, but the service lasts as long as the app.
        try? await gracefulShutdown()
    }
}

/// What could not be done, as one sentence that says what to do about it. The exit code is not zero.
struct CommandProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The process that started this one, and holds the other end of standard input.
private enum Parent {
    /// Saves are complete when they return, so the process can end at any moment.
    static func exitWhenGone() {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            exit(0)
        }
    }
}
