// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import SQLiteStore

/// A state of a coordinator's stores that contexts read from while others write.
///
/// A token does not retain its state, which lives as long as a context is pinned to it. An archived token always stands
/// for ``current``, since no state outlives its process.
///
/// Source: developer.apple.com/documentation/coredata/nsquerygenerationtoken
open class NSQueryGenerationToken: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Unchecked: the weak reference is set once, and reading it is atomic.
    private(set) final weak var view: PinnedView?
    final let isCurrent: Bool

    private static let now = NSQueryGenerationToken(nil)

    /// Creates a token that stands for ``current``, for subclasses.
    public override init() { isCurrent = true }

    init(_ view: PinnedView?) {
        self.view = view
        isCurrent = view == nil
    }

    /// The newest state at the first read of a context pinned to it.
    open class var current: NSQueryGenerationToken { now }

    /// Returns true: tokens archive securely.
    open class var supportsSecureCoding: Bool { true }

    /// Archives whether the token is ``current``.
    open func encode(with coder: NSCoder) { coder.encode(isCurrent, forKey: "current") }

    /// Unarchives a token.
    ///
    /// - Returns: nil unless the archive holds ``current``.
    public required init?(coder: NSCoder) {
        guard coder.decodeBool(forKey: "current") else { return nil }
        isCurrent = true
    }

    /// Returns the token itself, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Self else { return false }
        return other === self || (isCurrent && other.isCurrent) || (view != nil && other.view === view)
    }

    public override var hash: Int { view.map { ObjectIdentifier($0).hashValue } ?? 0 }
}

/// The states of several stores, held while a context reads from them.
final class PinnedView: Sendable {
    /// By store number. In-memory stores have none.
    let generations: [UInt16: StoreGeneration]

    init(_ generations: [UInt16: StoreGeneration]) { self.generations = generations }
}

/// The state that a context reads from.
enum ReadingPoint {
    /// The newest state at each read.
    case head
    /// The newest state at the next read, and the same state from then on.
    case nextRead
    case pinned(PinnedView)
}

extension NSManagedObjectContext {
    var pinnedToken: NSQueryGenerationToken? {
        preconditionIsCurrent()
        guard parent == nil, let view = pinnedView() else { return nil }
        return NSQueryGenerationToken(view)
    }

    func setQueryGenerationFromImplementation(_ generation: NSQueryGenerationToken?) throws {
        preconditionIsCurrent()
        prefetched = PrefetchedRows()
        guard let generation else { return readingPoint = .head }
        guard parent == nil else {
            throw CocoaError(.coreData, sentence: "A child context reads the state of its parent; set the query generation of the parent.")
        }
        if generation.isCurrent { return readingPoint = .nextRead }
        guard let view = generation.view else {
            throw CocoaError(
                .coreData, sentence: "The query generation ended with the last context that used it; pin to the current one instead.")
        }
        readingPoint = .pinned(view)
    }

    /// Runs reads of the stores in the state that the context is pinned to.
    func inPinnedState<T>(_ body: () throws -> T) rethrows -> T {
        try GenerationScope.with(pinnedView()?.generations ?? [:], body)
    }

    /// Whether each read sees the newest state.
    var isUnpinned: Bool { if case .head = readingPoint { true } else { false } }

    /// Advances a pinned context to the newest state.
    func advanceQueryGeneration() {
        guard case .pinned = readingPoint else { return }
        readingPoint = .nextRead
        prefetched = PrefetchedRows()
    }

    private func pinnedView() -> PinnedView? {
        switch readingPoint {
        case .head: return nil
        case .pinned(let view): return view.generations.isEmpty ? nil : view
        case .nextRead:
            var generations: [UInt16: StoreGeneration] = [:]
            for store in persistentStoreCoordinator?.persistentStores ?? [] {
                // Stores without SQL keep no earlier states. If a state cannot be had now, the read itself reports why.
                if let generation = try? store.sqlite?.currentGeneration() { generations[store.number] = generation }
            }
            let view = PinnedView(generations)
            readingPoint = .pinned(view)
            return generations.isEmpty ? nil : view
        }
    }
}
