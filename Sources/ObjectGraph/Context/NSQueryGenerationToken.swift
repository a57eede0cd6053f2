// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import SQLiteStore

/// A state of a coordinator's stores that contexts read from while others write.
///
/// A token does not keep its state: that lives as long as a context is pinned to it, and no longer. An archived token
/// stands for ``current`` and nothing else, since no state outlives its process.
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

    /// Whatever is newest when a context that was pinned to it reads for the first time.
    open class var current: NSQueryGenerationToken { now }

    open class var supportsSecureCoding: Bool { true }

    open func encode(with coder: NSCoder) { coder.encode(isCurrent, forKey: "current") }

    /// - Returns: nil for anything but the archive of ``current``.
    public required init?(coder: NSCoder) {
        guard coder.decodeBool(forKey: "current") else { return nil }
        isCurrent = true
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Self else { return false }
        return other === self || (isCurrent && other.isCurrent) || (view != nil && other.view === view)
    }

    public override var hash: Int { view.map { ObjectIdentifier($0).hashValue } ?? 0 }
}

/// The states of some stores, held while a context reads from them.
final class PinnedView: Sendable {
    /// By store number. Stores in memory have none.
    let generations: [UInt16: StoreGeneration]

    init(_ generations: [UInt16: StoreGeneration]) { self.generations = generations }
}

/// Where a context reads from.
enum ReadingPoint {
    /// What is there at each read.
    case head
    /// What is there at the next read, from then on.
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
        if generation.isCurrent { return readingPoint = .nextRead }
        guard let view = generation.view else {
            throw CocoaError(
                .coreData, sentence: "The query generation ended with the last context that used it; pin to the current one instead.")
        }
        readingPoint = .pinned(view)
    }

    /// Runs what reads from the stores, in the state that the context is pinned to.
    func inPinnedState<T>(_ body: () throws -> T) rethrows -> T {
        try GenerationScope.with(pinnedView()?.generations ?? [:], body)
    }

    /// Whether each read sees what is there.
    var isUnpinned: Bool { if case .head = readingPoint { true } else { false } }

    /// Moves on to the newest state, if the context is pinned.
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
                // Where no state can be had now the read itself will say why.
                if let generation = try? store.storage.currentGeneration() { generations[store.number] = generation }
            }
            let view = PinnedView(generations)
            readingPoint = .pinned(view)
            return generations.isEmpty ? nil : view
        }
    }
}
