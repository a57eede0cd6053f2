// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

extension NSManagedObjectContext {
    /// Fetches objects from the stores, with this context's unsaved changes applied.
    ///
    /// - Throws: `CocoaError` 134070 if the store cannot evaluate the predicate (the description says why), or a file
    ///   error of the store. The context is unchanged then.
    public func fetch<T>(_ request: NSFetchRequest<T>) throws -> [T] {
        request.resolveEntity(in: persistentStoreCoordinator)
        guard isPlain else { return try cast(fetch(request.untyped), of: request) }
        preconditionIsCurrent()
        // Objects and their IDs are many, and are not boxed one by one.
        switch request.resultType {
        case .managedObjectResultType: return try cast(fetchObjects(request.parameters), of: request)
        case .managedObjectIDResultType: return try cast(fetchIDs(request.parameters), of: request)
        default: return try cast(results(of: request.parameters), of: request)
        }
    }

    /// Counts the objects a fetch would return, with this context's unsaved changes applied.
    ///
    /// - Throws: The errors of `fetch(_:)`.
    public func count<T>(for request: NSFetchRequest<T>) throws -> Int {
        request.resolveEntity(in: persistentStoreCoordinator)
        guard isPlain else { return try count(for: request.untyped) }
        return try countChecked(request.parameters)
    }

    func results(of parameters: FetchParameters) throws -> [Any] {
        preconditionIsCurrent()
        switch parameters.resultType {
        case .managedObjectIDResultType: return try fetchIDs(parameters)
        case .countResultType: return [NSNumber(value: try count(parameters))]
        case .managedObjectResultType: return try fetchObjects(parameters)
        case .dictionaryResultType: return try fetchDictionaries(parameters)
        default: throw CocoaError(.persistentStoreUnsupportedRequestType, sentence: "A fetch request has one result type.")
        }
    }

    func countChecked(_ parameters: FetchParameters) throws -> Int {
        preconditionIsCurrent()
        return try count(parameters)
    }

    private func cast<T>(_ results: [Any], of request: NSFetchRequest<T>) throws -> [T] {
        try results.map { result in
            guard let result = result as? T else { throw mismatch(result, request) }
            return result
        }
    }

    private func cast<T>(_ ids: [NSManagedObjectID], of request: NSFetchRequest<T>) throws -> [T] {
        T.self == NSManagedObjectID.self ? unsafeBitCast(ids, to: [T].self) : try cast(ids.map { $0 as Any }, of: request)
    }

    /// Casts fetched objects; checks each class once, since a result has few classes.
    func cast<T>(_ objects: [NSManagedObject], of request: NSFetchRequest<T>) throws -> [T] {
        guard T.self is NSManagedObject.Type else { return try cast(objects.map { $0 as Any }, of: request) }
        var checked: ObjectIdentifier?
        for object in objects where ObjectIdentifier(type(of: object)) != checked {
            guard object is T else { throw mismatch(object, request) }
            checked = ObjectIdentifier(type(of: object))
        }
        // All elements are instances of T's class: an array of references may be reinterpreted.
        return unsafeBitCast(objects, to: [T].self)
    }

    private func mismatch<T>(_ result: Any, _ request: NSFetchRequest<T>) -> CocoaError {
        CocoaError(
            .persistentStoreOperation,
            sentence: "The request for \(request.entityName ?? "") gave a \(type(of: result)), not a \(T.self).")
    }

    private func count(_ parameters: FetchParameters) throws -> Int {
        processPendingChanges()
        let plan = try FetchPlan(parameters, coordinator: requireCoordinator())
        if !parameters.groups.isEmpty || (parameters.isDistinct && parameters.resultType == .dictionaryResultType) {
            let dictionaries = try DictionaryPlan(parameters, plan, coordinator: requireCoordinator())
            return try inPinnedState { try dictionaries.count() }
        }
        if plan.filtersObjects { return try fetchObjects(parameters).count }
        if let parent {
            guard !overlays(plan) else { return try fetchObjects(parameters).count }
            // The parent's stores count their rows: no object is created here or there.
            var above = parameters
            above.includesPendingChanges = true
            return try reading(parent) { try $0.count(above) }
        }
        if overlays(plan) { return try countOverlaid(plan, parameters) }
        guard plan.stores.count > 1 else { return try inPinnedState { try plan.stores.first?.count(plan.query) ?? 0 } }
        // The window is one of all stores' rows together, so no store may apply it alone.
        var query = plan.query
        query.limit = parameters.limit > 0 ? parameters.offset + parameters.limit : nil
        query.offset = 0
        return windowed(try inPinnedState { try plan.stores.reduce(0) { try $0 + $1.count(query) } }, parameters)
    }

    /// - Returns: The number of results in the request's window, of `count` results in all.
    private func windowed(_ count: Int, _ parameters: FetchParameters) -> Int {
        let remainingCount = max(count - parameters.offset, 0)
        return parameters.limit > 0 ? min(remainingCount, parameters.limit) : remainingCount
    }

    /// Counts in the stores, then corrects the count by the objects with unsaved changes.
    private func countOverlaid(_ plan: FetchPlan, _ parameters: FetchParameters) throws -> Int {
        let changed = pending.filter { plan.entities.contains($0.layout.index) }
        var count = changed.count { !$0.isMarkedDeleted && plan.accepts($0) }
        var query = plan.query
        (query.limit, query.offset) = (nil, 0)
        for store in plan.stores {
            count += try inPinnedState { try store.count(query) }
            let stored = changed.filter { $0.key.store == store.number }
            if stored.isEmpty { continue }
            var among = parameters
            let isOne = NSPredicate(format: "SELF IN %@", stored.map(\.objectID))
            among.predicate =
                parameters.predicate.map { PredicateKit.NSCompoundPredicate(andPredicateWithSubpredicates: [isOne, $0]) } ?? isOne
            (among.limit, among.offset) = (0, 0)
            let amongThem = try FetchPlan(among, coordinator: requireCoordinator()).query
            count -= try inPinnedState { try store.count(amongThem) }
        }
        return windowed(count, parameters)
    }

    /// Creates no objects where the rows' keys suffice.
    private func fetchIDs(_ parameters: FetchParameters) throws -> [NSManagedObjectID] {
        processPendingChanges()
        let coordinator = requireCoordinator()
        let plan = try FetchPlan(parameters, coordinator: coordinator)
        guard parent == nil, !plan.filtersObjects, !overlays(plan), plan.stores.count == 1, let store = plan.stores.first else {
            return try fetchObjects(parameters).map(\.objectID)
        }
        let layouts = coordinator.layouts
        let ticket = coordinator.directory.ticket(numbered: store.number)
        return try inPinnedState { try store.fetchKeys(plan.query) }.map {
            NSManagedObjectID(key: $0, layout: layouts[$0.entityIndex], ticket: ticket)
        }
    }

    func fetchObjects(_ parameters: FetchParameters) throws -> [NSManagedObject] {
        processPendingChanges()
        let plan = try FetchPlan(parameters, coordinator: requireCoordinator())
        let prefetching = try prefetchPlan(parameters, plan)
        if let parent { return try fetchObjects(parameters, plan, in: parent) }
        let objects = try fetchObjects(parameters, plan, prefetching)
        // A batched result prefetches for each batch when it is loaded.
        if !parameters.leavesRows { try prefetch(prefetching, for: objects) }
        return objects
    }

    func prefetchPlan(_ parameters: FetchParameters, _ plan: FetchPlan) throws -> PrefetchPlan {
        parameters.prefetchKeyPaths.isEmpty
            ? PrefetchPlan() : try PrefetchPlan(parameters.prefetchKeyPaths, from: plan.entities, requireCoordinator().layouts)
    }

    private func fetchObjects(_ parameters: FetchParameters, _ plan: FetchPlan, _ prefetching: PrefetchPlan) throws -> [NSManagedObject] {
        if plan.filtersObjects {
            let objects = try plan.stores.flatMap { try found(plan.query, in: $0, parameters, prefetching) }
            return window(overlay(pending: plan, on: objects.filter(plan.accepts)), parameters)
        }
        guard overlays(plan) || plan.stores.count > 1 else {
            guard let store = plan.stores.first else { return [] }
            return try found(plan.query, in: store, parameters, prefetching)
        }
        // Offset and limit apply after the overlay: an unsaved change may move an object into the window or out of it.
        var query = plan.query
        // The window's rows, and as many more as pending changes may remove from it, are all that matter.
        query.limit = parameters.limit > 0 ? parameters.offset + parameters.limit + pending.count : nil
        query.offset = 0
        var objects: [NSManagedObject] = []
        for store in plan.stores { objects += try found(query, in: store, parameters, prefetching) }
        return window(overlay(pending: plan, on: objects), parameters)
    }

    /// Fetches from the parent, whose unsaved changes count, and applies this context's unsaved changes.
    private func fetchObjects(
        _ parameters: FetchParameters, _ plan: FetchPlan, in parent: NSManagedObjectContext
    ) throws -> [NSManagedObject] {
        var above = parameters
        above.includesPendingChanges = true
        // The parent's result is read completely right away, so batches would only cost more.
        above.batchSize = 0
        above.includesPropertyValues = true
        guard overlays(plan) else { return register(try sourceRows(matching: above, in: parent), parameters) }
        above.limit = parameters.limit > 0 ? parameters.offset + parameters.limit + pending.count : 0
        above.offset = 0
        return window(overlay(pending: plan, on: register(try sourceRows(matching: above, in: parent), parameters)), parameters)
    }

    func window(_ objects: [NSManagedObject], _ parameters: FetchParameters) -> [NSManagedObject] {
        let end = parameters.limit > 0 ? min(objects.count, parameters.offset + parameters.limit) : objects.count
        return parameters.offset < end ? Array(objects[parameters.offset..<end]) : []
    }

    func overlays(_ plan: FetchPlan) -> Bool {
        plan.includesPendingChanges && pending.contains { plan.entities.contains($0.layout.index) }
    }

    private func found(
        _ query: StoreQuery, in store: NSPersistentStore, _ parameters: FetchParameters, _ prefetching: PrefetchPlan
    ) throws -> [NSManagedObject] {
        if store.sqlite != nil, parameters.leavesRows { return try foundWithoutRows(query, in: store, parameters, prefetching) }
        if store.sqlite != nil { return register(try inPinnedState { try store.fetchPacked(query) }, parameters) }
        return register(try Self.current.with(self) { try store.fetch(query) }, parameters)
    }

    private func register(_ rows: [Row], _ parameters: FetchParameters) -> [NSManagedObject] {
        rows.map { row in
            let object = register(row)
            if parameters.refreshesRefetched, object.flags.isDisjoint(with: .pending), row.version > object.version || parent != nil {
                _ = object.merge(row)
            }
            if !parameters.returnsObjectsAsFaults { object.willRead() }
            return object
        }
    }

    func register(_ chunks: [RowChunk], _ parameters: FetchParameters) -> [NSManagedObject] {
        var objects: [NSManagedObject] = []
        objects.reserveCapacity(chunks.reduce(0) { $0 + $1.count })
        let layouts = requireCoordinator().layouts
        // A query returns each row once: with no registered object there is nothing to look up.
        let isFirst = registry.isEmpty
        registry.reserve(objects.capacity)
        for chunk in chunks {
            chunk.forEach { offset in
                let key = chunk.key(at: offset)
                guard !isFirst, let object = registry[key] else {
                    let new = NSManagedObject.make(key, layout: layouts[key.entityIndex], in: self)
                    new.cacheRow(chunk, at: offset)
                    return objects.append(new)
                }
                if object.flags.contains(.detached) { object.clearInaccessible() }
                if object.flags.contains(.fault), !object.flags.contains(.hasRow) || object.version < chunk.version(at: offset) {
                    object.cacheRow(chunk, at: offset)
                }
                if parameters.refreshesRefetched, object.flags.isDisjoint(with: .pending), chunk.version(at: offset) > object.version {
                    _ = object.merge(chunk.row(at: offset))
                }
                objects.append(object)
            }
        }
        // `awakeFromFetch` may run arbitrary code, so it runs after all objects are registered.
        if !parameters.returnsObjectsAsFaults { for object in objects { object.willRead() } }
        return objects
    }

    func overlay(pending plan: FetchPlan, on stored: [NSManagedObject]) -> [NSManagedObject] {
        guard overlays(plan) else { return plan.sorted(stored) }
        let changed = pending.filter { plan.entities.contains($0.layout.index) }
        let changedKeys = Set(changed.map(\.key))
        let unchanged = stored.filter { !changedKeys.contains($0.key) }
        let accepted = changed.filter { !$0.isMarkedDeleted && plan.accepts($0) }.sorted { $0.sequence < $1.sequence }
        // Rows of one store arrive sorted: a few changed objects are inserted by binary search, which reads few rows.
        guard plan.stores.count == 1, parent == nil, accepted.count < unchanged.count / 8 else { return plan.sorted(unchanged + accepted) }
        var result: [NSManagedObject] = []
        result.reserveCapacity(unchanged.count + accepted.count)
        var next = 0
        for object in plan.sorted(accepted) {
            let index = max(next, plan.insertionIndex(for: object, among: unchanged.count) { unchanged[$0] })
            result += unchanged[next..<index]
            result.append(object)
            next = index
        }
        return result + unchanged[next...]
    }

    // MARK: Faults

    /// Reads a fault's row. If the row is missing the object becomes a deleted one, as Apple's contexts do by default
    /// (`shouldDeleteInaccessibleFaults`). If the row cannot be read now the object stays a fault.
    func fulfill(_ object: NSManagedObject) {
        if !object.flags.contains(.hasRow), object.promise != nil { readBatch(of: object) }
        if !object.flags.contains(.hasRow) || stalenessInterval >= 0 {
            let isPresent: Bool
            do { isPresent = try readRow(of: object) } catch { return }
            guard isPresent else {
                guard shouldHandleInaccessibleFault(object, for: object.objectID, triggeredByProperty: nil) else {
                    preconditionFailure("Core Data could not fulfill a fault for '\(object.objectID)': its row is gone")
                }
                object.becomeInaccessible()
                pending.remove(object)
                return
            }
        }
        object.fire()
    }

    /// - Returns: Whether the row exists.
    private func readRow(of object: NSManagedObject) throws -> Bool {
        switch try pointRead(object.key) {
        case .row(let chunk): object.cacheRow(chunk, at: 0)
        case .missing: return false
        case .unavailable:
            guard let row = try sourceRow(object.key) else { return false }
            object.cacheRow(row)
        }
        return true
    }

    func loadDestinations(of object: NSManagedObject, _ index: Int) -> [RowKey] {
        (try? sourceDestinations(of: object.key, toMany: index)) ?? []
    }
}
