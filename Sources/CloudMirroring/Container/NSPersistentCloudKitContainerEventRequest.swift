// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
public import ObjectGraph
import PredicateKit
import SQLiteStore

/// Asks stores for the events of their syncing, those of earlier launches included. The last 1,000 of a store are kept.
///
///     let request = NSPersistentCloudKitContainerEventRequest.fetchEvents(after: yesterday)
///     let result = try context.execute(request) as? NSPersistentCloudKitContainerEventResult
///     let events = result?.result as? [NSPersistentCloudKitContainer.Event]
///
/// A context of any container that has the stores can carry it out; stores that were never synced have no events. An
/// event that the end of the app cut off is ended at the next launch, as cancelled.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainereventrequest
open class NSPersistentCloudKitContainerEventRequest: NSPersistentStoreRequest {
    private var start: Date?
    private var fetch: NSFetchRequest<any NSFetchRequestResult>?
    open var resultType = NSPersistentCloudKitContainerEventResult.ResultType.events

    /// A request for all events.
    public required override init() {}

    private class func make(start: Date? = nil, fetch: NSFetchRequest<any NSFetchRequestResult>? = nil) -> Self {
        let request = Self()
        (request.start, request.fetch) = (start, fetch)
        return request
    }

    /// Events that began later.
    open class func fetchEvents(after date: Date) -> Self { make(start: date) }

    /// - Parameter event: nil for all there are.
    open class func fetchEvents(after event: NSPersistentCloudKitContainer.Event?) -> Self {
        make(start: event?.startDate)
    }

    /// - Parameter fetchRequest: One of ``fetchRequestForEvents()``. Its predicate, order, offset and limit count.
    open class func fetchEvents(matching fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> Self {
        make(fetch: fetchRequest)
    }

    /// The same as ``fetchEvents(matching:)``.
    open class func fetchEvents(matchingFetch fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> Self {
        fetchEvents(matching: fetchRequest)
    }

    /// A new request to set a predicate and an order on: `identifier`, `storeIdentifier`, `type`, `startDate`, `endDate`
    /// and `succeeded` have values there.
    open class func fetchRequestForEvents() -> NSFetchRequest<any NSFetchRequestResult> {
        let request = NSFetchRequest<any NSFetchRequestResult>()
        request.entity = EventEntity.description
        return request
    }

    /// The same as ``fetchRequestForEvents()``.
    open class func fetchForEvents() -> NSFetchRequest<any NSFetchRequestResult> { fetchRequestForEvents() }
}

/// What ``NSPersistentCloudKitContainerEventRequest`` answers with.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainereventresult
open class NSPersistentCloudKitContainerEventResult: NSPersistentStoreResult {
    /// What a request for events answers with. Raw values are Apple's.
    public enum ResultType: Int, Sendable {
        /// `[NSPersistentCloudKitContainer.Event]`, in the order in which they began.
        case events = 0
        /// `[NSNumber]` with one number: how many events match the request, in all stores together.
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

    open var resultType: ResultType { type }

    init(_ events: [NSPersistentCloudKitContainer.Event], _ type: ResultType) {
        self.events = events
        self.type = type
    }
}

/// The name in the header; see ``NSPersistentCloudKitContainerEventResult/ResultType``.
public typealias NSPersistentCloudKitContainerEventResultType = NSPersistentCloudKitContainerEventResult.ResultType

extension NSPersistentCloudKitContainerEventRequest: ExecutableRequest {
    /// - Throws: ``CocoaError`` 134070 for a request about anything but events, or what reading the stores' files throws.
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
                sentence: "Events are fetched by a request made with fetchRequestForEvents(), not for the entity '\(request.entityName ?? "")'.")
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

/// Says what a fetch request is about; it belongs to no model.
private enum EventEntity {
    static let name = "NSCKEvent"

    private struct Made: @unchecked Sendable {
        // Unchecked: nobody changes the description once it is made.
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
