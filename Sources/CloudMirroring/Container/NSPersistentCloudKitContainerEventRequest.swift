// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
public import ObjectGraph
import PredicateKit
import SQLiteStore

/// A request for the sync events of stores, including those of earlier launches. A store keeps the last 1,000.
///
///     let request = NSPersistentCloudKitContainerEventRequest.fetchEvents(after: yesterday)
///     let result = try context.execute(request) as? NSPersistentCloudKitContainerEventResult
///     let events = result?.result as? [NSPersistentCloudKitContainer.Event]
///
/// A context of any container with the stores executes it; stores that never synced have no events. An event that the end of the process
/// interrupted is ended as cancelled at the next launch.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainereventrequest
open class NSPersistentCloudKitContainerEventRequest: NSPersistentStoreRequest {
    private var start: Date?
    private var fetch: NSFetchRequest<any NSFetchRequestResult>?
    /// Whether the result has events or their number.
    open var resultType = NSPersistentCloudKitContainerEventResult.ResultType.events

    /// Creates a request for all events.
    public required override init() {}

    private class func make(start: Date? = nil, fetch: NSFetchRequest<any NSFetchRequestResult>? = nil) -> Self {
        let request = Self()
        (request.start, request.fetch) = (start, fetch)
        return request
    }

    /// Creates a request for events that began after a date.
    open class func fetchEvents(after date: Date) -> Self { make(start: date) }

    /// Creates a request for events that began after another one.
    ///
    /// - Parameter event: nil for all events.
    open class func fetchEvents(after event: NSPersistentCloudKitContainer.Event?) -> Self {
        make(start: event?.startDate)
    }

    /// Creates a request for the events that a fetch request describes.
    ///
    /// - Parameter fetchRequest: A request that ``fetchRequestForEvents()`` returned. Its predicate, order, offset and limit count.
    open class func fetchEvents(matching fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> Self {
        make(fetch: fetchRequest)
    }

    /// The same as ``fetchEvents(matching:)``.
    open class func fetchEvents(matchingFetch fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> Self {
        fetchEvents(matching: fetchRequest)
    }

    /// Returns a fetch request for events. Its predicate and sort descriptors may use `identifier`, `storeIdentifier`, `type`,
    /// `startDate`, `endDate` and `succeeded`.
    open class func fetchRequestForEvents() -> NSFetchRequest<any NSFetchRequestResult> {
        let request = NSFetchRequest<any NSFetchRequestResult>()
        request.entity = EventEntity.description
        return request
    }

    /// The same as ``fetchRequestForEvents()``.
    open class func fetchForEvents() -> NSFetchRequest<any NSFetchRequestResult> { fetchRequestForEvents() }
}

/// The result of an ``NSPersistentCloudKitContainerEventRequest``.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainereventresult
open class NSPersistentCloudKitContainerEventResult: NSPersistentStoreResult {
    /// The form of a result. Raw values are Apple's.
    public enum ResultType: Int, Sendable {
        /// `[NSPersistentCloudKitContainer.Event]`, in the order in which they began.
        case events = 0
        /// `[NSNumber]` with one number: the count of matching events in all stores.
        case countEvents = 1
    }

    private let events: [NSPersistentCloudKitContainer.Event]
    private let type: ResultType

    /// `[NSPersistentCloudKitContainer.Event]` or `[NSNumber]`, as ``resultType`` says.
    open var result: Any? {
        switch type {
        case .events: events
        case .countEvents: [NSNumber(value: events.count)]
        }
    }

    /// Whether ``result`` has events or their number.
    open var resultType: ResultType { type }

    init(_ events: [NSPersistentCloudKitContainer.Event], _ type: ResultType) {
        self.events = events
        self.type = type
    }
}

/// The name in Apple's header; see ``NSPersistentCloudKitContainerEventResult/ResultType``.
public typealias NSPersistentCloudKitContainerEventResultType = NSPersistentCloudKitContainerEventResult.ResultType

extension NSPersistentCloudKitContainerEventRequest: ExecutableRequest {
    /// - Throws: `CocoaError` 134070 for a request about anything but events, or what reading the stores' files throws.
    package func execute(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
        let stores = affectedStores ?? context.persistentStoreCoordinator?.persistentStores ?? []
        let after = start?.timeIntervalSinceReferenceDate
        var events: [NSPersistentCloudKitContainer.Event] = []
        for store in stores {
            guard let file = store.sqlite else { continue }
            let rows: [EventTable.Row]
            do { rows = try file.read { try EventTable.rows(after: after, $0) } } catch let error as StoreError { throw CocoaError(error) }
            events += rows.compactMap { NSPersistentCloudKitContainer.Event($0, storeIdentifier: store.identifier ?? "") }
        }
        if stores.count > 1 { events.sort { $0.startDate < $1.startDate } }
        return NSPersistentCloudKitContainerEventResult(try fetch.map { try EventFilter($0).kept(of: events) } ?? events, resultType)
    }
}

/// The predicate, order and bounds of a fetch request about events.
private struct EventFilter {
    private let request: NSFetchRequest<any NSFetchRequestResult>
    private let order: [SortKey]

    init(_ request: NSFetchRequest<any NSFetchRequestResult>) throws {
        guard request.entityName == nil || request.entityName == EventEntity.name else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence:
                    "Events are fetched by a request made with fetchRequestForEvents(), not for the entity '\(request.entityName ?? "")'.")
        }
        self.request = request
        order = try (request.sortDescriptors ?? []).map { try SortKey($0, of: EventEntity.name, layouts: []) }
    }

    func kept(of events: [NSPersistentCloudKitContainer.Event]) -> [NSPersistentCloudKitContainer.Event] {
        let kept = events.filter(matches).enumerated().sorted { first, second in
            for key in order {
                let comparison = key.order(first.element.value(at: key), second.element.value(at: key))
                if comparison != 0 { return (comparison < 0) == key.ascending }
            }
            return first.offset < second.offset
        }
        let rest = kept.dropFirst(max(request.fetchOffset, 0)).map(\.element)
        return request.fetchLimit > 0 ? Array(rest.prefix(request.fetchLimit)) : rest
    }

    private func matches(_ event: NSPersistentCloudKitContainer.Event) -> Bool {
        guard let predicate = request.predicate else { return true }
        guard let tree = parsed(predicate) else { return predicate.evaluate(with: event) }
        let now = { Date().timeIntervalSinceReferenceDate }
        return (try? tree.evaluate(on: .object(PredicateObject(event)), now: now)) ?? false
    }
}

extension NSPersistentCloudKitContainer.Event {
    fileprivate func value(at key: SortKey) -> PredicateValue {
        PredicateValue.object(PredicateObject(self)).value(at: key.keyPath[...])
    }
}

/// The entity description of a fetch request for events. It isn't part of a model.
private enum EventEntity {
    static let name = "NSCKEvent"

    private struct Made: @unchecked Sendable {
        // Unchecked: the description is never changed after its initialization.
        let description: NSEntityDescription
    }

    private static let made: Made = {
        let attributes: [(String, NSAttributeType)] = [
            ("identifier", .UUIDAttributeType), ("storeIdentifier", .stringAttributeType), ("type", .integer64AttributeType),
            ("startDate", .dateAttributeType), ("endDate", .dateAttributeType), ("succeeded", .booleanAttributeType),
        ]
        let entity = NSEntityDescription()
        entity.name = name
        entity.properties = attributes.map { name, type in
            let attribute = NSAttributeDescription()
            attribute.name = name
            attribute.attributeType = type
            return attribute
        }
        return Made(description: entity)
    }()

    static var description: NSEntityDescription { made.description }
}
