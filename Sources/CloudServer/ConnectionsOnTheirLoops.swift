// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// Runs what a connection does on the thread that reads from it and writes to it.
///
/// Otherwise each request goes to a thread of Swift's pool and back: two changes of thread that take longer than most requests.
/// Nothing that a connection calls may block: files and password hashes have threads of their own, and so has the database.
struct ConnectionsOnTheirLoops<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> { base.setup(channel: channel, logger: logger) }

    func handle(value: Base.Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) { await base.handle(value: value, logger: logger) }
    }
}

/// Tasks on the thread of an event loop.
private final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // What is asked for from the loop's own thread runs in this turn of the loop.
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension HTTPServerBuilder {
    static func onEventLoops(idleSeconds: Int) -> HTTPServerBuilder {
        HTTPServerBuilder { ConnectionsOnTheirLoops(base: GuardedChannel(idleSeconds: idleSeconds, responder: $0)) }
    }
}
