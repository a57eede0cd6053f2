// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The state behind a fetched results controller, without its result type.
///
/// Used on the context's queue only.
final class FetchedResults {
    final class Section: NSFetchedResultsSectionInfo {
        let name: String
        let members: [NSManagedObject]

        init(name: String, members: [NSManagedObject]) {
            self.name = name
            self.members = members
        }

        var indexTitle: String? { name.first.map { String($0).uppercased() } }
        var numberOfObjects: Int { members.count }
        var objects: [Any]? { members }
    }

    let context: NSManagedObjectContext
    let sectionNameKeyPath: String?
    weak var delegate: (any NSFetchedResultsControllerDelegate)?
    weak var controller: NSFetchedResultsController<any NSFetchRequestResult>?
    private(set) var objects: [NSManagedObject] = []
    private(set) var sections: [Section] = []
    private(set) var isFetched = false
    private var sectionNames: [ObjectIdentifier: String] = [:]
    private var plan: FetchPlan?
    private var observation: (any NSObjectProtocol)?

    init(_ context: NSManagedObjectContext, sectionNameKeyPath: String?) {
        self.context = context
        self.sectionNameKeyPath = sectionNameKeyPath
    }

    deinit {
        if let observation { NotificationCenter.default.removeObserver(observation) }
    }

    func perform(_ parameters: FetchParameters) throws {
        context.preconditionIsCurrent()
        guard !parameters.sortDescriptors.isEmpty else {
            throw CocoaError(.persistentStoreOperation, sentence: "A fetched results controller needs a request with a sort descriptor.")
        }
        plan = try FetchPlan(parameters, coordinator: context.requireCoordinator())
        objects = try context.fetchObjects(parameters)
        sectionNames = [:]
        sections = sectioned(objects, touched: [])
        isFetched = true
        if observation == nil { observe() }
    }

    func path(of object: NSManagedObject) -> IndexPath? {
        for (index, section) in sections.enumerated() {
            if let row = section.members.firstIndex(of: object) { return IndexPath(indexes: [index, row]) }
        }
        return nil
    }

    private func observe() {
        let reference = Unchecked(WeakResults(self))
        observation = NotificationCenter.default.addObserver(
            forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
        ) { notification in
            // Posted on the context's queue, synchronously.
            reference.value.results?.contextDidChange(notification)
        }
    }

    private func contextDidChange(_ notification: Notification) {
        guard let plan, isFetched else { return }
        func changed(_ key: String) -> [NSManagedObject] {
            (notification.userInfo?[key] as? Set<NSManagedObject> ?? []).filter { plan.entities.contains($0.layout.index) }
        }
        if notification.userInfo?[NSInvalidatedAllObjectsKey] != nil { return announce([], touched: []) }
        let deleted = Set(changed(NSDeletedObjectsKey) + changed(NSInvalidatedObjectsKey))
        let touched = Set(changed(NSInsertedObjectsKey) + changed(NSUpdatedObjectsKey) + changed(NSRefreshedObjectsKey)).subtracting(deleted)
        guard !deleted.isEmpty || !touched.isEmpty else { return }
        let gone = deleted.union(touched)
        let added = touched.filter { object in
            // Reading a fault may find that its row is gone.
            object.willRead()
            return !object.isDeleted && plan.accepts(object)
        }
        announce(plan.sorted(Array(added), into: objects.filter { !gone.contains($0) }), touched: touched)
    }

    /// Takes the new results and tells the delegate: sections first, then objects.
    ///
    /// Source: developer.apple.com/documentation/coredata/nsfetchedresultscontrollerdelegate
    private func announce(_ next: [NSManagedObject], touched: Set<NSManagedObject>) {
        let nextSections = sectioned(next, touched: touched)
        let difference = ResultsDifference(from: sections, to: nextSections, touched: touched)
        let before = sections
        objects = next
        sections = nextSections
        guard !difference.isEmpty, let delegate, let controller else { return }
        delegate.controllerWillChangeContent(controller)
        for index in difference.deletedSections {
            delegate.controller(controller, didChange: before[index], atSectionIndex: index, for: .delete)
        }
        for index in difference.insertedSections {
            delegate.controller(controller, didChange: nextSections[index], atSectionIndex: index, for: .insert)
        }
        for change in difference.changes {
            delegate.controller(controller, didChange: change.object, at: change.from, for: change.type, newIndexPath: change.to)
        }
        delegate.controllerDidChangeContent(controller)
    }

    /// An object that nobody touched stays in its section: the name may be that of an object on the other side of a
    /// relationship, whose changes are not followed. Source: as above, "sectionNameKeyPath" (practice).
    private func sectioned(_ objects: [NSManagedObject], touched: Set<NSManagedObject>) -> [Section] {
        guard let sectionNameKeyPath else { return [Section(name: "", members: objects)] }
        var names: [ObjectIdentifier: String] = [:]
        defer { sectionNames = names }
        var groups: [(name: String, members: [NSManagedObject])] = []
        for object in objects {
            let id = ObjectIdentifier(object)
            let known = touched.contains(object) ? nil : sectionNames[id]
            let name = known ?? Self.text(of: object.value(forKeyPath: sectionNameKeyPath))
            names[id] = name
            if groups.last?.name == name { groups[groups.count - 1].members.append(object) } else { groups.append((name, [object])) }
        }
        return groups.map { Section(name: $0.name, members: $0.members) }
    }

    /// As the number, for what is a number on Apple's platforms.
    private static func text(of value: Any?) -> String {
        guard let value else { return "" }
        // By type: on Linux a cast also bridges, so that any number would pass for a Boolean.
        let type = type(of: value)
        if type == Bool.self { return value as? Bool == true ? "1" : "0" }
        if type == Double.self || type == Float.self { return (value as? Double).map { NSNumber(value: $0).stringValue } ?? "\(value)" }
        return "\(value)"
    }
}

private final class WeakResults {
    weak var results: FetchedResults?
    init(_ results: FetchedResults) { self.results = results }
}
