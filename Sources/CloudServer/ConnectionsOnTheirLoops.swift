// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// Runs the tasks of a connection on its event loop's thread.
///
/// Otherwise each request hops to Swift's thread pool and back: two context switches that take longer than most requests.
/// Code of a connection must not block: files, password hashes and the database have threads of their own.
struct ConnectionsOnTheirLoops<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> { base.setup(channel: channel, logger: logger) }

    func handle(value: Base.Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) { await base.handle(value: value, logger: logger) }
    }
}

/// A task executor on the thread of an event loop.
private final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A job enqueued from the loop's own thread runs in the same iteration of the loop.
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension HTTPServerBuilder {
    static func onEventLoops(
        idleSeconds: Int, pace: BodyPace, judge: HeadRefusalHandler.Judge, counts: OpenCounts,
        isUncounted: @escaping @Sendable (NetworkAddress) -> Bool
    ) -> HTTPServerBuilder {
        HTTPServerBuilder {
            ConnectionsOnTheirLoops(
                base: GuardedChannel(
                    idleSeconds: idleSeconds, pace: pace, judge: judge, counts: counts, isUncounted: isUncounted, responder: $0))
        }
    }
}
