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

/// Told what happened to the results. Every method has an empty default.
///
/// The controller that is passed shares all state with the one that was made and is equal to it (`==`), but is
/// another object (`!==`): Swift off Apple's platforms cannot pass `NSFetchedResultsController<Post>` where
/// `<NSFetchRequestResult>` is asked for.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchedresultscontrollerdelegate
public protocol NSFetchedResultsControllerDelegate: AnyObject {
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
    ) -> String? { sectionName.first.map { String($0).uppercased() } }
}

/// A fetch whose results follow what happens in a context.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchedresultscontroller
open class NSFetchedResultsController<ResultType>: NSObject {
    let results: FetchedResults
    /// Kept, so that the delegate gets the same object each time.
    private var erased: NSFetchedResultsController<any NSFetchRequestResult>?

    public let fetchRequest: NSFetchRequest<ResultType>
    public let sectionNameKeyPath: String?
    public let cacheName: String?

    /// - Parameters:
    ///   - fetchRequest: Needs at least one sort descriptor.
    ///   - sectionNameKeyPath: Groups objects; the first sort descriptor must order them the same way.
    ///   - cacheName: Accepted; sections are computed anew for now.
    public init(
        fetchRequest: NSFetchRequest<ResultType>, managedObjectContext context: NSManagedObjectContext,
        sectionNameKeyPath: String?, cacheName name: String?
    ) {
        self.fetchRequest = fetchRequest
        self.sectionNameKeyPath = sectionNameKeyPath
        cacheName = name
        results = FetchedResults(context, sectionNameKeyPath: sectionNameKeyPath)
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
            results.delegate = newValue
            guard results.controller == nil else { return }
            let erased = NSFetchedResultsController<any NSFetchRequestResult>(sharing: self)
            self.erased = erased
            results.controller = erased
        }
    }

    /// Fetches, and follows changes from then on.
    ///
    /// - Throws: ``CocoaError`` when the request has no sort descriptor, or the fetch fails.
    open func performFetch() throws { try results.perform(fetchRequest.parameters) }

    open var fetchedObjects: [ResultType]? { results.isFetched ? results.objects.compactMap { $0 as? ResultType } : nil }
    open var sections: [any NSFetchedResultsSectionInfo]? { results.isFetched ? results.sections : nil }

    /// - Precondition: The path is within the results.
    open func object(at indexPath: IndexPath) -> ResultType {
        guard let object = results.sections[indexPath[0]].members[indexPath[1]] as? ResultType else {
            preconditionFailure("the fetch request's result type is not that of its entity's class")
        }
        return object
    }

    open func indexPath(forObject object: ResultType) -> IndexPath? { (object as? NSManagedObject).flatMap(results.path) }

    /// The sections' index titles, each once.
    open var sectionIndexTitles: [String] {
        var titles: [String] = []
        for section in results.sections {
            if let title = sectionIndexTitle(forSectionName: section.name), titles.last != title { titles.append(title) }
        }
        return titles
    }

    open func sectionIndexTitle(forSectionName sectionName: String) -> String? {
        guard let delegate = results.delegate, let controller = results.controller else {
            return sectionName.first.map { String($0).uppercased() }
        }
        return delegate.controller(controller, sectionIndexTitleForSectionName: sectionName)
    }

    /// The first section with an index title; `sectionIndex` is the title's place among ``sectionIndexTitles``.
    open func section(forSectionIndexTitle title: String, at sectionIndex: Int) -> Int {
        results.sections.firstIndex { sectionIndexTitle(forSectionName: $0.name) == title } ?? 0
    }

    /// Sections are not kept between runs, so there is nothing to delete.
    open class func deleteCache(withName name: String?) {}
}

/// A controller, whatever its result type.
private protocol ResultsSharing { var results: FetchedResults { get } }

extension NSFetchedResultsController: ResultsSharing {}
