// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// The state behind a fetched results controller, without its result type.
///
/// Used on the context's queue only. The cost of a change depends on the number of changed objects and, a little, on the
/// number of sections and of the list's chunks; the results are not traversed.
final class FetchedResults {
    let context: NSManagedObjectContext
    let sectionNameKeyPath: String?
    let cacheName: String?
    weak var delegate: (any NSFetchedResultsControllerDelegate)? {
        didSet {
            form = .unknown
            updateFollowing()
        }
    }
    weak var controller: NSFetchedResultsController<any NSFetchRequestResult>?
    private(set) var isFetched = false
    private(set) var list = ResultsList()
    private(set) var sections = ResultsSections([])
    private var index: ResultsIndex?
    private var plan: FetchPlan?
    private var observations: [any NSObjectProtocol] = []
    private var flat: [NSManagedObject]?
    /// The results as an array of the result type of the controller that read them last.
    var typedObjects: Any?
    private var infos: [FetchedSection]?
    /// The form of the delegate's methods, once determined.
    var form: DelegateForm = .unknown
    /// Set by the default implementation of the difference method.
    var isDifferenceUnwanted = false
    let streams = SnapshotStreams()

    enum DelegateForm { case unknown, snapshots, differences, changes }

    init(_ context: NSManagedObjectContext, sectionNameKeyPath: String?, cacheName: String?) {
        self.context = context
        self.sectionNameKeyPath = sectionNameKeyPath
        self.cacheName = cacheName
    }

    deinit {
        for observation in observations { NotificationCenter.default.removeObserver(observation) }
        streams.finish()
    }

    // MARK: Fetching

    func perform(_ parameters: FetchParameters) throws {
        context.preconditionIsCurrent()
        guard !parameters.sortDescriptors.isEmpty else {
            throw CocoaError(.persistentStoreOperation, sentence: "A fetched results controller needs a request with a sort descriptor.")
        }
        let plan = try FetchPlan(parameters, coordinator: context.requireCoordinator())
        let cache = sectionCache(plan)
        let objects = try context.fetchObjects(parameters)
        // Another writer may have changed the stores during the fetch: it is unknown which state was read.
        let sections = try ResultsSections(sectioned(objects, cache == sectionCache(plan) ? cache : nil))
        self.plan = plan
        setResults(ResultsList(objects), sections)
        index = nil
        isFetched = true
        updateFollowing()
        presentFirst()
    }

    private func setResults(_ list: ResultsList, _ sections: ResultsSections) {
        self.list = list
        self.sections = sections
        flat = nil
        typedObjects = nil
        infos = nil
    }

    /// - Returns: nil if the context's objects may differ from the newest state of the stores, which the cache describes.
    private func sectionCache(_ plan: FetchPlan) -> SectionCache? {
        guard let cacheName, let sectionNameKeyPath, !context.hasChanges, context.parent == nil, context.isUnpinned else { return nil }
        return SectionCache(cacheName, plan.query, of: plan.stores, sectionNameKeyPath: sectionNameKeyPath)
    }

    private func sectioned(_ objects: [NSManagedObject], _ cache: SectionCache?) throws -> [ResultsSections.Entry] {
        guard let sectionNameKeyPath else { return [.init(name: "", count: objects.count)] }
        if let cachedSections = cache?.sections(of: objects.count) { return cachedSections }
        var entries: [ResultsSections.Entry] = []
        var sectionNames: Set<String> = []
        for (place, object) in objects.enumerated() {
            let name = Self.text(of: object.value(forKeyPath: sectionNameKeyPath))
            if entries.last?.name == name {
                entries[entries.count - 1].count += 1
                continue
            }
            guard sectionNames.insert(name).inserted else {
                throw CocoaError(
                    .coreData,
                    sentence: "The fetched object at index \(place) has an out of order section name '\(name)'. "
                        + "Objects must be sorted by section name: the first sort descriptor must group as '\(sectionNameKeyPath)' does.")
            }
            entries.append(.init(name: name, count: 1))
        }
        cache?.write(entries)
        return entries
    }

    // MARK: Access

    var objects: [NSManagedObject] {
        if let flat { return flat }
        let objects = list.objects()
        flat = objects
        return objects
    }

    /// Created on demand; earlier ones keep their contents.
    var sectionInfos: [FetchedSection] {
        if let infos { return infos }
        let made = Self.infos(sections, list, titled: self)
        infos = made
        return made
    }

    static func infos(_ sections: ResultsSections, _ list: ResultsList, titled results: FetchedResults) -> [FetchedSection] {
        sections.entries.indices.map { FetchedSection(sections.entries[$0].name, list, sections.range($0), results) }
    }

    func path(of object: NSManagedObject) -> IndexPath? { listIndex(of: object).map(sections.path) }

    private func listIndex(of object: NSManagedObject) -> Int? {
        if index == nil { index = ResultsIndex(list) }
        return index?.index(of: object, in: list)
    }

    // MARK: Following changes

    /// Follows the context's changes. Without a delegate and a stream it is not called.
    ///
    /// Source: developer.apple.com/documentation/coredata/nsfetchedresultscontroller, "Modes of Operation"
    func updateFollowing() {
        guard isFetched, observations.isEmpty, delegate != nil || streams.isWanted else { return }
        let reference = Unchecked(WeakResults(self))
        observations = [
            NotificationCenter.default.addObserver(
                forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
            ) { notification in
                // Posted synchronously on the context's queue.
                reference.value.results?.contextDidChange(notification)
            },
            NotificationCenter.default.addObserver(
                forName: .NSPersistentStoreCoordinatorStoresDidChange, object: context.persistentStoreCoordinator, queue: nil
            ) { notification in
                // Posted on the thread that removes the store.
                guard let removed = notification.userInfo?[NSRemovedPersistentStoresKey] as? [NSPersistentStore] else { return }
                let numbers = Set(removed.map(\.number))
                guard let context = reference.value.results?.context else { return }
                context.perform { reference.value.results?.removeObjects { numbers.contains($0.key.store) } }
            },
        ]
    }

    private func contextDidChange(_ notification: Notification) {
        guard let plan, isFetched else { return }
        if notification.userInfo?[NSInvalidatedAllObjectsKey] != nil { return removeObjects { _ in true } }
        func changed(_ key: String) -> [NSManagedObject] {
            (notification.userInfo?[key] as? Set<NSManagedObject> ?? []).filter { plan.entities.contains($0.layout.index) }
        }
        let deleted = Set(changed(NSDeletedObjectsKey) + changed(NSInvalidatedObjectsKey))
        let touched = Set(changed(NSInsertedObjectsKey) + changed(NSUpdatedObjectsKey) + changed(NSRefreshedObjectsKey)).subtracting(
            deleted)
        guard !deleted.isEmpty || !touched.isEmpty else { return }
        let accepted = touched.filter { object in
            // Reading a fault may find its row missing.
            object.willRead()
            return !object.isMarkedDeleted && plan.accepts(object)
        }
        apply(gone: deleted.union(touched), accepted: accepted, plan)
    }

    private func removeObjects(where isLost: (NSManagedObject) -> Bool) {
        guard let plan, isFetched else { return }
        let lost = objects.filter(isLost)
        if !lost.isEmpty { apply(gone: Set(lost), accepted: [], plan) }
    }

    private func apply(gone: Set<NSManagedObject>, accepted: Set<NSManagedObject>, _ plan: FetchPlan) {
        var (list, draft) = (list, ResultsSectionsDraft(sections))
        let stateBefore = ResultsState(list: self.list, sections: sections)
        var touched: [ObjectIdentifier: ResultsChanges.Touched] = [:]
        var removals: [(index: Int, object: NSManagedObject)] = gone.compactMap { object in listIndex(of: object).map { ($0, object) } }
        guard !removals.isEmpty || !accepted.isEmpty else { return }
        removals.sort { $0.index > $1.index }
        for (place, object) in removals {
            let section = sections.section(at: place)
            touched[ObjectIdentifier(object)] = .init(object: object, before: (place, sections.entries[section].name))
            draft.remove(fromSection: section)
            index?.didRemove(object, list.remove(at: place))
        }
        if index == nil { index = ResultsIndex(list) }
        var names: [ObjectIdentifier: String] = [:]
        for object in plan.sorted(Array(accepted)) {
            let name = sectionNameKeyPath.map { Self.text(of: object.value(forKeyPath: $0)) } ?? ""
            names[ObjectIdentifier(object)] = name
            let sortedIndex = plan.insertionIndex(for: object, among: list.count) { list[$0] }
            let insertionIndex = draft.insert(name, at: sortedIndex)
            index?.didInsert(object, list.insert(object, at: insertionIndex), in: list)
        }
        for object in accepted {
            guard let listIndex = index?.index(of: object, in: list) else { continue }
            touched[ObjectIdentifier(object), default: .init(object: object)].after = (listIndex, names[ObjectIdentifier(object)] ?? "")
        }
        let (sections, deleted, inserted) = draft.finish(keepingEmpty: sectionNameKeyPath == nil)
        var changes = ResultsChanges(Array(touched.values))
        (changes.deletedSections, changes.insertedSections) = (deleted, inserted)
        setResults(list, sections)
        announce(changes, from: stateBefore)
    }

    /// Returns the text of a section name; values that are numbers on Apple's platforms print as numbers.
    private static func text(of value: Any?) -> String {
        guard let value else { return "" }
        // By type: on Linux a cast also bridges, so any number would pass for a Boolean.
        let type = type(of: value)
        if type == Bool.self { return value as? Bool == true ? "1" : "0" }
        if type == Double.self || type == Float.self { return (value as? Double).map { NSNumber(value: $0).stringValue } ?? "\(value)" }
        return "\(value)"
    }
}

/// The results at one moment.
struct ResultsState {
    let list: ResultsList
    let sections: ResultsSections
}

private final class WeakResults {
    weak var results: FetchedResults?
    init(_ results: FetchedResults) { self.results = results }
}

/// One section at the moment of its creation.
final class FetchedSection: NSFetchedResultsSectionInfo {
    let name: String
    private let list: ResultsList
    private let range: Range<Int>
    private weak var results: FetchedResults?

    init(_ name: String, _ list: ResultsList, _ range: Range<Int>, _ results: FetchedResults) {
        self.name = name
        self.list = list
        self.range = range
        self.results = results
    }

    var indexTitle: String? { results.map { $0.title(ofSection: name) } ?? FetchedResults.defaultTitle(ofSection: name) }
    var numberOfObjects: Int { range.count }
    var objects: [Any]? { list.objects(range) }
}
