// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

/// A store that reads and writes its file as a whole. In between it is a set of nodes in memory.
///
/// A subclass reads its file in ``load()`` and writes it in ``save()``; ``newReferenceObject(for:)`` assigns reference
/// objects to new objects. Values are copied from objects to nodes unless the subclass does it.
///
/// Source: developer.apple.com/documentation/coredata/nsatomicstore
open class NSAtomicStore: NSPersistentStore, @unchecked Sendable {
    // Unchecked: nodes are used with `lock` held.
    let table = ReferenceTable()
    /// Recursive: a subclass's save may read the store.
    let lock = NSRecursiveLock()
    private var nodes: [RowKey: NSAtomicStoreCacheNode] = [:]
    private var versions: [RowKey: Int64] = [:]

    public override init(
        persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?, at url: URL,
        options: [AnyHashable: Any]? = nil
    ) {
        super.init(persistentStoreCoordinator: root, configurationName: name, at: url, options: options)
    }

    // MARK: For subclasses

    /// Reads the file and adds a node for each object, by ``addCacheNodes(_:)``.
    ///
    /// - Throws: `CocoaError` 134080 unless a subclass overrides the method, or the override's error; the store isn't
    ///   added then.
    open func load() throws {
        throw CocoaError(.persistentStoreOpen, sentence: "\(Swift.type(of: self)) does not override load().")
    }

    /// Writes the nodes and the metadata to the file.
    ///
    /// - Throws: `CocoaError` 134030 unless a subclass overrides the method, or the override's error; the context's
    ///   changes stay pending then.
    open func save() throws {
        throw CocoaError(.persistentStoreSave, sentence: "\(Swift.type(of: self)) does not override save().")
    }

    /// Returns a node with the values of a new object.
    open func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode {
        let node = node(managedObject.key) ?? NSAtomicStoreCacheNode(objectID: managedObject.objectID)
        copy(managedObject, to: node)
        return node
    }

    /// Copies the values of a changed object to its node.
    open func updateCacheNode(_ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject) { copy(managedObject, to: node) }

    /// Returns the reference object of a new object: a text, a number or a UUID, unique in its entity.
    open func newReferenceObject(for managedObject: NSManagedObject) -> Any { UUID().uuidString }

    /// Called before nodes are removed.
    open func willRemoveCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {}

    /// Returns all nodes.
    public final func cacheNodes() -> Set<NSAtomicStoreCacheNode> { lock.withLock { Set(nodes.values) } }

    /// Adds nodes.
    public final func addCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {
        lock.withLock {
            for node in cacheNodes {
                nodes[node.objectID.key] = node
                versions[node.objectID.key] = versions[node.objectID.key] ?? 1
            }
        }
    }

    /// Returns the node of an object; nil if it does not exist.
    public final func cacheNode(for objectID: NSManagedObjectID) -> NSAtomicStoreCacheNode? { lock.withLock { nodes[objectID.key] } }

    /// Returns the ID of the object with a reference object.
    public final func objectID(for entity: NSEntityDescription, withReferenceObject data: Any) -> NSManagedObjectID {
        table.objectID(of: data, entity, in: self)
    }

    /// Returns the reference object of an object.
    public final func referenceObject(for objectID: NSManagedObjectID) -> Any {
        table.referenceObject(for: objectID, madeBy: "objectID(for:withReferenceObject:)")
    }

    // MARK: For the coordinator

    override var references: ReferenceTable? { table }

    override func open(_ plan: StorePlan) throws {
        try loadMetadata()
        var metadata = metadata ?? [:]
        if metadata[NSStoreUUIDKey] as? String == nil { metadata[NSStoreUUIDKey] = UUID().uuidString }
        if metadata[NSStoreTypeKey] as? String == nil { metadata[NSStoreTypeKey] = plan.description.type }
        try plan.check(metadata)
        adoptMetadata(metadata.merging(plan.versionMetadata) { $1 })
        try load()
    }

    override func relocate(to url: URL) -> Bool {
        self.url = url
        return true
    }

    override func row(_ key: RowKey) throws -> Row? { try lock.withLock { try nodes[key].map { try row(of: $0, key) } } }

    override func destinations(of key: RowKey, toMany index: Int) throws -> [RowKey] {
        lock.withLock {
            guard let node = nodes[key], let layout = layout(key) else { return [] }
            return members(node.value(forKey: layout.entity.toMany[index].name))
        }
    }

    override func allocateKeys(for objects: [NSManagedObject], entity: Int) throws -> [RowKey] {
        objects.map { objectID(for: $0.entity, withReferenceObject: newReferenceObject(for: $0)).key }
    }

    override func fetch(_ query: StoreQuery) throws -> [Row] {
        let rows = try lock.withLock { try matching(query).map { try row(of: $0.node, $0.key) } }
        let window = rows.dropFirst(query.offset)
        return Array(query.limit.map { window.prefix($0) } ?? window)
    }

    override func count(_ query: StoreQuery) throws -> Int {
        let count = try lock.withLock { try matching(query).count } - query.offset
        return max(0, min(count, query.limit ?? count))
    }

    override func save(_ changes: StoreChanges, of objects: [NSManagedObject], in context: NSManagedObjectContext?) throws {
        try lock.withLock {
            try checkVersions(changes)
            let savedState = (nodes, versions, nodes.mapValues { $0.propertyCache.flatMap { $0.mutableCopy() as? NSMutableDictionary } })
            do {
                apply(changes, objects)
                try save()
            } catch {
                (nodes, versions) = (savedState.0, savedState.1)
                for (key, values) in savedState.2 { nodes[key]?.propertyCache = values }
                throw error
            }
            metadataWasSaved()
        }
    }

    override func saveMetadata(in context: NSManagedObjectContext?) throws {
        try lock.withLock { try save() }
        metadataWasSaved()
    }

    private func checkVersions(_ changes: StoreChanges) throws {
        let expected =
            changes.updates.map { ($0.key, $0.expectedVersion) }
            + changes.deletes.compactMap { delete in
                delete.expectedVersion.map { (delete.key, $0) }
            }
        let conflicts = try expected.compactMap { key, version in
            let persisted = try row(key)
            return persisted?.version == version ? nil : RowConflict(key: key, expectedVersion: version, persisted: persisted)
        }
        if !conflicts.isEmpty { throw StoreError(.conflict, "rows were changed concurrently", conflicts: conflicts) }
    }

    private func apply(_ changes: StoreChanges, _ objects: [NSManagedObject]) {
        let byKey = Dictionary(keepingFirst: objects.map { ($0.key, $0) })
        // All nodes are added before relationships look for them.
        addCacheNodes(
            Set(
                changes.inserts.map { row in nodes[row.key] ?? byKey[row.key].map { NSAtomicStoreCacheNode(objectID: $0.objectID) } }
                    .compactMap(\.self)))
        addCacheNodes(Set(changes.inserts.compactMap { byKey[$0.key].map(newCacheNode) }))
        for object in objects where object.isMarkedUpdated && !object.isMarkedDeleted {
            guard let node = nodes[object.key] else { continue }
            updateCacheNode(node, from: object)
        }
        for update in changes.updates { versions[update.key, default: 0] += 1 }
        let deletedNodes = Set(changes.deletes.compactMap { nodes[$0.key] })
        if !deletedNodes.isEmpty { willRemoveCacheNodes(deletedNodes) }
        for delete in changes.deletes {
            nodes[delete.key] = nil
            versions[delete.key] = nil
        }
    }

    func layout(_ key: RowKey) -> EntityLayout? {
        guard let layouts = persistentStoreCoordinator?.layouts, layouts.indices.contains(key.entityIndex) else { return nil }
        return layouts[key.entityIndex]
    }

    func node(_ key: RowKey) -> NSAtomicStoreCacheNode? { nodes[key] }

    /// Nodes of some entities, in order of insertion.
    func nodes(of entities: Set<Int>) -> [(key: RowKey, node: NSAtomicStoreCacheNode)] {
        nodes.filter { entities.contains($0.key.entityIndex) }.sorted { $0.key.primaryKey < $1.key.primaryKey }.map { ($0.key, $0.value) }
    }

    func version(_ key: RowKey) -> Int64 { versions[key] ?? 1 }
}
