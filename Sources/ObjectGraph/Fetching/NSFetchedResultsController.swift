// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A change of one object or section in the results. Raw values are Apple's.
public enum NSFetchedResultsChangeType: UInt, Sendable {
    /// Inserted into the results.
    case insert = 1
    /// Removed from the results.
    case delete = 2
    /// Moved to another index path.
    case move = 3
    /// Changed in its place.
    case update = 4
}

/// One section of the results.
public protocol NSFetchedResultsSectionInfo: AnyObject {
    /// The sections' shared value of the section name key path, as text.
    var name: String { get }
    /// The title in the index; nil for none.
    var indexTitle: String? { get }
    /// The number of objects in the section.
    var numberOfObjects: Int { get }
    /// The objects in the section.
    var objects: [Any]? { get }
}

/// The receiver of changes to fetched results. A delegate implements one form: the snapshot method, else, without
/// sections, the difference method, else the methods for single changes. Only that form is called. All methods have
/// defaults.
///
/// A snapshot identifies sections by name and items by object ID; changed and moved objects are marked as reloaded. The
/// snapshot method is also called after a fetch. A difference removes and inserts an object that only changed.
///
/// The controller argument shares all state with the app's controller and equals it (`==`), but is another object
/// (`!==`): Swift off Apple's platforms cannot pass `NSFetchedResultsController<Post>` as `<NSFetchRequestResult>`.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchedresultscontrollerdelegate
public protocol NSFetchedResultsControllerDelegate: AnyObject {
    /// Reports the results as a snapshot, after a fetch and after each change.
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
        didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference)
    /// Reports the difference of the results without sections.
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
        didChangeContentWith diff: CollectionDifference<NSManagedObjectID>)
    /// Called before the changes of one event.
    func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)
    /// Reports the change of one object.
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
        at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?)
    /// Reports the insertion or deletion of a section.
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange sectionInfo: any NSFetchedResultsSectionInfo,
        atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType)
    /// Called after the changes of one event.
    func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)
    /// Returns the index title for a section's name.
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, sectionIndexTitleForSectionName sectionName: String
    ) -> String?
}

extension NSFetchedResultsControllerDelegate {
    /// Default: declines snapshots.
    public func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
        didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference
    ) { snapshot.isUnwanted = true }
    /// Default: declines differences.
    public func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
        didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
    ) { controller.results.isDifferenceUnwanted = true }
    /// Default: no effect.
    public func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}
    /// Default: no effect.
    public func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
        at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {}
    /// Default: no effect.
    public func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange sectionInfo: any NSFetchedResultsSectionInfo,
        atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
    ) {}
    /// Default: no effect.
    public func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}
    /// Default: the first letter of the name in upper case.
    public func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, sectionIndexTitleForSectionName sectionName: String
    ) -> String? { FetchedResults.defaultTitle(ofSection: sectionName) }
}

/// A fetch with results that follow the changes of a context, while there is a delegate or a reader of ``snapshots``.
///
/// Objects that are inserted, changed or deleted in the context, or merged into it, are inserted into, moved within or
/// removed from the results. Changes of related objects have no effect. After a reset of the context or the removal of
/// the store the results are empty until the next ``performFetch()``.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchedresultscontroller
open class NSFetchedResultsController<ResultType>: NSObject {
    let results: FetchedResults
    /// Cached, so that the delegate receives the same object each time.
    private var erased: NSFetchedResultsController<any NSFetchRequestResult>?

    /// The fetch request.
    open private(set) var fetchRequest: NSFetchRequest<ResultType>
    /// The key path by which objects are grouped into sections.
    open private(set) var sectionNameKeyPath: String?
    /// The name of the cache file of the sections.
    open private(set) var cacheName: String?

    /// Creates a controller. Call ``performFetch()`` to fill the results.
    ///
    /// - Parameters:
    ///   - fetchRequest: Needs at least one sort descriptor.
    ///   - sectionNameKeyPath: Groups objects; the first sort descriptor must order them the same way.
    ///   - cacheName: A name under which the sections are cached between runs of the program, until the request or the
    ///     store's file changes.
    public init(
        fetchRequest: NSFetchRequest<ResultType>, managedObjectContext context: NSManagedObjectContext,
        sectionNameKeyPath: String?, cacheName name: String?
    ) {
        self.fetchRequest = fetchRequest
        self.sectionNameKeyPath = sectionNameKeyPath
        cacheName = name
        results = FetchedResults(context, sectionNameKeyPath: sectionNameKeyPath, cacheName: name)
    }

    private init<Other>(sharing other: NSFetchedResultsController<Other>) {
        fetchRequest = NSFetchRequest(copying: other.fetchRequest)
        sectionNameKeyPath = other.sectionNameKeyPath
        cacheName = other.cacheName
        results = other.results
    }

    /// Whether both controllers share their results, regardless of result types.
    open override func isEqual(_ object: Any?) -> Bool { (object as? any ResultsSharing)?.results === results }
    open override var hash: Int { ObjectIdentifier(results).hashValue }

    /// The context that the results are fetched in.
    open var managedObjectContext: NSManagedObjectContext { results.context }

    /// The receiver of changes. Setting it begins or ends following the context.
    open var delegate: (any NSFetchedResultsControllerDelegate)? {
        get { results.delegate }
        set {
            if results.controller == nil {
                let erased = NSFetchedResultsController<any NSFetchRequestResult>(sharing: self)
                self.erased = erased
                results.controller = erased
            }
            results.delegate = newValue
        }
    }

    /// Fetches the results. With a delegate or a reader of ``snapshots`` they follow the context's changes.
    ///
    /// - Throws: `CocoaError` 134070 when the request has no sort descriptor, 134060 when the order splits a section,
    ///   or the errors of the fetch. The results are unchanged then.
    open func performFetch() throws { try results.perform(fetchRequest.parameters) }

    /// The results; nil before the first fetch.
    open var fetchedObjects: [ResultType]? {
        guard results.isFetched else { return nil }
        // Apps read one object after the other as `fetchedObjects?[row]`: only the first read converts the list.
        if let typed = results.typedObjects, type(of: typed) == [ResultType].self, let objects = typed as? [ResultType] { return objects }
        let objects = results.objects.compactMap { $0 as? ResultType }
        results.typedObjects = objects
        return objects
    }
    /// The sections of the results; nil before the first fetch.
    open var sections: [any NSFetchedResultsSectionInfo]? { results.isFetched ? results.sectionInfos : nil }

    /// Returns the object at an index path.
    ///
    /// - Precondition: The path is within the results.
    open func object(at indexPath: IndexPath) -> ResultType {
        let index = results.sections.starts[indexPath[0]] + indexPath[1]
        precondition(results.sections.range(indexPath[0]).contains(index), "the index path is within the results")
        guard let object = results.list[index] as? ResultType else {
            preconditionFailure("the fetch request's result type is not that of its entity's class")
        }
        return object
    }

    /// Returns the index path of an object; nil if it isn't in the results.
    open func indexPath(forObject object: ResultType) -> IndexPath? { (object as? NSManagedObject).flatMap(results.path) }

    /// The distinct index titles of the sections.
    open var sectionIndexTitles: [String] {
        var titles: [String] = []
        for section in results.sections.entries {
            if let title = sectionIndexTitle(forSectionName: section.name), titles.last != title { titles.append(title) }
        }
        return titles
    }

    /// Returns the index title for a section's name.
    open func sectionIndexTitle(forSectionName sectionName: String) -> String? {
        results.title(ofSection: sectionName)
    }

    /// Returns the first section with an index title; `sectionIndex` is the title's index in ``sectionIndexTitles``.
    open func section(forSectionIndexTitle title: String, at sectionIndex: Int) -> Int {
        results.sections.entries.firstIndex { sectionIndexTitle(forSectionName: $0.name) == title } ?? 0
    }

    /// Deletes the section cache of a name; all caches for nil.
    open class func deleteCache(withName name: String?) { SectionCache.delete(name) }

    /// The results now, and after each change. A slow reader receives only the newest snapshot.
    ///
    /// Tarn's own. Read the property on the context's queue and the sequence on any. The sequence ends with the controller.
    ///
    ///     for await snapshot in controller.snapshots { show(snapshot.itemIdentifiers) }
    public final var snapshots: AsyncStream<NSDiffableDataSourceSnapshot<String, NSManagedObjectID>> {
        managedObjectContext.preconditionIsCurrent()
        let state = ResultsState(list: results.list, sections: results.sections)
        let first = NSDiffableDataSourceSnapshot(SnapshotContents<String, NSManagedObjectID>(state, reloaded: ResultsChanges()))
        defer { results.updateFollowing() }
        return results.streams.stream(startingWith: results.isFetched ? first : nil)
    }
}

/// A controller with an erased result type.
private protocol ResultsSharing { var results: FetchedResults { get } }

extension NSFetchedResultsController: ResultsSharing {}
