// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// Raw values are Apple's.
public enum NSFetchedResultsChangeType: UInt, Sendable {
    case insert = 1
    case delete = 2
    case move = 3
    case update = 4
}

/// One section of the results.
public protocol NSFetchedResultsSectionInfo: AnyObject {
    var name: String { get }
    var indexTitle: String? { get }
    var numberOfObjects: Int { get }
    var objects: [Any]? { get }
}

/// Told what happened to the results. A delegate has methods of one form, and only those are called: the one for
/// snapshots, else, without sections, the one for differences, else those for each change. All have defaults.
///
/// A snapshot's sections are named by their names, items by object IDs; objects that changed in their place, or moved,
/// are marked as reloaded. The method for snapshots is also called when the results are fetched. In a difference an
/// object that only changed is taken out and put in again.
///
/// The controller that is passed shares all state with the one that was made and is equal to it (`==`), but is
/// another object (`!==`): Swift off Apple's platforms cannot pass `NSFetchedResultsController<Post>` where
/// `<NSFetchRequestResult>` is asked for.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchedresultscontrollerdelegate
public protocol NSFetchedResultsControllerDelegate: AnyObject {
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
        didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference)
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
        didChangeContentWith diff: CollectionDifference<NSManagedObjectID>)
    func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
        at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?)
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange sectionInfo: any NSFetchedResultsSectionInfo,
        atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType)
    func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)
    func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, sectionIndexTitleForSectionName sectionName: String
    ) -> String?
}

extension NSFetchedResultsControllerDelegate {
    public func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
        didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference
    ) { snapshot.isUnwanted = true }
    public func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
        didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
    ) { controller.results.isDifferenceUnwanted = true }
    public func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}
    public func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
        at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {}
    public func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange sectionInfo: any NSFetchedResultsSectionInfo,
        atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
    ) {}
    public func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {}
    public func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, sectionIndexTitleForSectionName sectionName: String
    ) -> String? { FetchedResults.defaultTitle(ofSection: sectionName) }
}

/// A fetch whose results follow what happens in a context, once there is a delegate or somebody reads ``snapshots``.
///
/// Objects that are inserted, changed or deleted in the context, or merged into it, move in, about or out. What happens
/// to related objects is not followed. When the context is reset or the store removed, the results are empty until the
/// next ``performFetch()``.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchedresultscontroller
open class NSFetchedResultsController<ResultType>: NSObject {
    let results: FetchedResults
    /// Kept, so that the delegate gets the same object each time.
    private var erased: NSFetchedResultsController<any NSFetchRequestResult>?

    open private(set) var fetchRequest: NSFetchRequest<ResultType>
    open private(set) var sectionNameKeyPath: String?
    open private(set) var cacheName: String?

    /// - Parameters:
    ///   - fetchRequest: Needs at least one sort descriptor.
    ///   - sectionNameKeyPath: Groups objects; the first sort descriptor must order them the same way.
    ///   - cacheName: A name under which the sections are kept between runs of the program, as long as neither the
    ///     request nor the store's file changes.
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

    /// Two controllers over the same results are equal, whatever their result types.
    open override func isEqual(_ object: Any?) -> Bool { (object as? any ResultsSharing)?.results === results }
    open override var hash: Int { ObjectIdentifier(results).hashValue }

    open var managedObjectContext: NSManagedObjectContext { results.context }

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

    /// Fetches, and follows changes from then on.
    ///
    /// - Throws: ``CocoaError`` 134070 when the request has no sort descriptor, 134060 when the order does not group
    ///   what belongs into one section, or what the fetch throws. The results are as they were then.
    open func performFetch() throws { try results.perform(fetchRequest.parameters) }

    open var fetchedObjects: [ResultType]? { results.isFetched ? results.objects.compactMap { $0 as? ResultType } : nil }
    open var sections: [any NSFetchedResultsSectionInfo]? { results.isFetched ? results.sectionInfos : nil }

    /// - Precondition: The path is within the results.
    open func object(at indexPath: IndexPath) -> ResultType {
        let place = results.sections.starts[indexPath[0]] + indexPath[1]
        precondition(results.sections.range(indexPath[0]).contains(place), "the index path is within the results")
        guard let object = results.list[place] as? ResultType else {
            preconditionFailure("the fetch request's result type is not that of its entity's class")
        }
        return object
    }

    open func indexPath(forObject object: ResultType) -> IndexPath? { (object as? NSManagedObject).flatMap(results.path) }

    /// The sections' index titles, each once.
    open var sectionIndexTitles: [String] {
        var titles: [String] = []
        for section in results.sections.entries {
            if let title = sectionIndexTitle(forSectionName: section.name), titles.last != title { titles.append(title) }
        }
        return titles
    }

    open func sectionIndexTitle(forSectionName sectionName: String) -> String? {
        results.title(ofSection: sectionName)
    }

    /// The first section with an index title; `sectionIndex` is the title's place among ``sectionIndexTitles``.
    open func section(forSectionIndexTitle title: String, at sectionIndex: Int) -> Int {
        results.sections.entries.firstIndex { sectionIndexTitle(forSectionName: $0.name) == title } ?? 0
    }

    /// Forgets the sections that are kept under a name; under all names for nil.
    open class func deleteCache(withName name: String?) { SectionCache.delete(name) }

    /// The results now, and after each change. A reader that is slow misses what is out of date.
    ///
    /// Tarn's own; to be asked for on the context's queue, and read anywhere. The sequence ends with the controller.
    ///
    ///     for await snapshot in controller.snapshots { show(snapshot.itemIdentifiers) }
    public final var snapshots: AsyncStream<NSDiffableDataSourceSnapshot<String, NSManagedObjectID>> {
        managedObjectContext.preconditionIsCurrent()
        let state = ResultsState(list: results.list, sections: results.sections)
        let first = NSDiffableDataSourceSnapshot(SnapshotContents<String, NSManagedObjectID>(state, reloaded: ResultsChanges()))
        defer { results.follow() }
        return results.streams.stream(startingWith: results.isFetched ? first : nil)
    }
}

/// A controller, whatever its result type.
private protocol ResultsSharing { var results: FetchedResults { get } }

extension NSFetchedResultsController: ResultsSharing {}
