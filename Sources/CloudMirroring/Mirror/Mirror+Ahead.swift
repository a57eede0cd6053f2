// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore
import ObjectGraph
import Synchronization

/// Two batches at a time: one is planned while the one before it is on its way, and sent while that one's answer is written down.
extension Mirror {
    /// A request that was sent ahead of its turn.
    struct UnderWay: Sendable {
        let key: String
        let answer: Task<MirrorCloud.Answer, any Error>
        let progress: SendProgress
        /// Up to where the zone is known to who sends it.
        let token: String?
    }

    /// Plans what comes after a batch that is on its way. A file that cannot be read says so when the batch is settled.
    func planAhead(of batch: MirrorFile.ZonedBatch, _ size: RequestSize, _ cloud: MirrorCloud) async -> MirrorFile.BatchAhead? {
        try? await onQueue { [surroundings] in
            try self.file.batchAhead(of: batch, itemsMax: size.items) { try cloud.request(for: $0, key: surroundings.makeName(), isAtomic: size.isAtomic) }
        }
    }

    /// Sends what was planned ahead before what the server answered is written down, so that it has something to do meanwhile.
    ///
    /// - Returns: nil where the answer, or what was written since, lets something else come next.
    func sendAhead(
        _ ahead: MirrorFile.BatchAhead?, after answer: MirrorCloud.Answer, to sent: OutgoingRequest, _ cloud: MirrorCloud
    ) async -> UnderWay? {
        guard let ahead, var request = ahead.request, sent.batch.items.allSatisfy({ answer.outcomes[$0.recordName]?.isAcceptance == true }),
            (try? await onQueue { try self.file.holds(ahead) }) == true
        else { return nil }
        request.token = sent.token == nil ? nil : answer.token
        let progress = SendProgress()
        let task = Task(executorPreference: surroundings.executor) { [request, self] in try await exchange(request, cloud, progress: progress) }
        return UnderWay(key: request.key, answer: task, progress: progress, token: request.token)
    }

    func answer(to request: OutgoingRequest, _ cloud: MirrorCloud) async throws -> MirrorCloud.Answer {
        let report = { @Sendable [feed] in _ = feed.yield(.itemsReceived($0)) }
        guard let underWay = underWay.withLock({ $0?.key == request.key ? $0.take() : nil }) else {
            return try await exchange(request, cloud, progress: SendProgress(report))
        }
        underWay.progress.begin(report)
        return try await withTaskCancellationHandler { try await underWay.answer.value } onCancel: { underWay.answer.cancel() }
    }

    /// Ends what was sent ahead and will not be waited for. Its request is kept, and sent once more before anything else is.
    func abandonAhead() async {
        guard let underWay = underWay.withLock({ $0.take() }) else { return }
        underWay.answer.cancel()
        _ = await underWay.answer.result
    }
}

/// How many items of a request the server has. That of a request which is sent ahead of its turn is reported once its turn has come.
final class SendProgress: Sendable {
    private struct State {
        var count = 0
        var report: (@Sendable (Int) -> Void)?
    }

    private let state: Mutex<State>

    init(_ report: (@Sendable (Int) -> Void)? = nil) { state = Mutex(State(report: report)) }

    func begin(_ report: @escaping @Sendable (Int) -> Void) {
        let count = state.withLock { state in
            state.report = report
            return state.count
        }
        if count > 0 { report(count) }
    }

    func note(_ count: Int) {
        let report = state.withLock { state in
            state.count = count
            return state.report
        }
        report?(count)
    }
}
