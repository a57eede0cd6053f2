// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

extension FetchedResults {
    /// Notifies the delegate in its one form: a snapshot, else a difference, else single changes, sections first.
    ///
    /// Source: developer.apple.com/documentation/coredata/nsfetchedresultscontrollerdelegate
    func announce(_ changes: ResultsChanges, from before: ResultsState) {
        guard !changes.isEmpty else { return }
        let after = ResultsState(list: list, sections: sections)
        streams.send(after, reloaded: changes)
        guard let delegate, let controller else { return }
        if form == .unknown || form == .snapshots, present(after, changes, to: delegate, controller) { return }
        if sectionNameKeyPath == nil, form == .unknown || form == .differences, let difference = changes.difference() {
            isDifferenceUnwanted = false
            delegate.controller(controller, didChangeContentWith: difference)
            form = isDifferenceUnwanted ? .changes : .differences
            if form == .differences { return }
        }
        form = .changes
        notifyOfChanges(changes, before, after, delegate, controller)
    }

    /// Calls a delegate's snapshot method after a fetch.
    func presentFirst() {
        let state = ResultsState(list: list, sections: sections)
        streams.send(state, reloaded: ResultsChanges())
        guard let delegate, let controller, form == .unknown || form == .snapshots else { return }
        _ = present(state, ResultsChanges(), to: delegate, controller)
    }

    /// - Returns: Whether the delegate implements the snapshot method.
    private func present(
        _ state: ResultsState, _ changes: ResultsChanges, to delegate: any NSFetchedResultsControllerDelegate,
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>
    ) -> Bool {
        let snapshot = NSDiffableDataSourceSnapshotReference {
            SnapshotContents(state, reloaded: changes).mapped({ AnyHashable($0) }, { AnyHashable($0) }) ?? SnapshotContents()
        }
        delegate.controller(controller, didChangeContentWith: snapshot)
        if snapshot.isUnwanted { return false }
        form = .snapshots
        return true
    }

    private func notifyOfChanges(
        _ changes: ResultsChanges, _ before: ResultsState, _ after: ResultsState, _ delegate: any NSFetchedResultsControllerDelegate,
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>
    ) {
        delegate.controllerWillChangeContent(controller)
        let formerSections = changes.deletedSections.isEmpty ? [] : Self.infos(before.sections, before.list, titled: self)
        for index in changes.deletedSections {
            delegate.controller(controller, didChange: formerSections[index], atSectionIndex: index, for: .delete)
        }
        for index in changes.insertedSections {
            delegate.controller(controller, didChange: sectionInfos[index], atSectionIndex: index, for: .insert)
        }
        for change in changes.changes {
            delegate.controller(
                controller, didChange: change.object, at: change.from.map(before.sections.path), for: change.type,
                newIndexPath: change.to.map(after.sections.path))
        }
        delegate.controllerDidChangeContent(controller)
    }

    // MARK: Index titles

    func title(ofSection name: String) -> String? {
        guard let delegate, let controller else { return Self.defaultTitle(ofSection: name) }
        return delegate.controller(controller, sectionIndexTitleForSectionName: name)
    }

    static func defaultTitle(ofSection name: String) -> String? { name.first.map { String($0).uppercased() } }
}

/// The open streams of a controller's snapshots.
final class SnapshotStreams: Sendable {
    typealias Snapshot = NSDiffableDataSourceSnapshot<String, NSManagedObjectID>

    private struct State {
        var streams: [Int: AsyncStream<Snapshot>.Continuation] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    var isWanted: Bool { state.withLock { !$0.streams.isEmpty } }

    /// - Parameter first: The stream's first element.
    func stream(startingWith first: Snapshot?) -> AsyncStream<Snapshot> {
        let (stream, continuation) = AsyncStream<Snapshot>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.count += 1
            state.streams[state.count] = continuation
            return state.count
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { state in _ = state.streams.removeValue(forKey: number) } }
        if let first { continuation.yield(first) }
        return stream
    }

    func send(_ results: ResultsState, reloaded changes: ResultsChanges) {
        let streams = state.withLock { Array($0.streams.values) }
        guard !streams.isEmpty else { return }
        let snapshot = Snapshot(SnapshotContents(results, reloaded: changes))
        for stream in streams { stream.yield(snapshot) }
    }

    func finish() {
        let streams = state.withLock { Array($0.streams.values) }
        for stream in streams { stream.finish() }
    }
}
