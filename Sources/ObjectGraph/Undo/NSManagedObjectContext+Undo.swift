// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

// Undo: each event, from one notification about changes to the next, registers one action. Undoing an event is an event
// itself, and so registers the action that redoes it.

extension NSManagedObjectContext {
    func undoImplementation() {
        preconditionIsCurrent()
        processPendingChanges()
        undoManager?.undo()
    }

    func redoImplementation() {
        preconditionIsCurrent()
        processPendingChanges()
        undoManager?.redo()
    }

    /// Registers the current event whenever the undo manager is about to inspect its groups.
    func observeCheckpoints() {
        if let checkpoints { NotificationCenter.default.removeObserver(checkpoints) }
        checkpoints = nil
        guard let undoManager else { return }
        checkpoints = NotificationCenter.default.addObserver(forName: .NSUndoManagerCheckpoint, object: undoManager, queue: nil) {
            [registry] _ in
            guard let context = registry.context, context.queue.isCurrent else { return }
            context.processPendingChanges()
        }
    }

    /// Snapshots an object before its first change in this event.
    @inline(__always)
    func willChange(_ object: NSManagedObject, isPresent: Bool = true) {
        guard !object.flags.contains(.unannounced) else { return }
        // Without undo only the current event's old values are needed, which clean and new objects have elsewhere.
        guard undoManager != nil || (isPresent && !object.flags.isDisjoint(with: .pending)) else { return }
        record(EventSnapshot(object, isPresent: isPresent))
    }

    private func record(_ snapshot: EventSnapshot) {
        let id = ObjectIdentifier(snapshot.object)
        if eventSnapshots[id] == nil { eventSnapshots[id] = snapshot }
    }

    /// Registers the event's changes with the undo manager. Called before inserted and deleted objects are released.
    func registerEvent() {
        let snapshots = eventSnapshots
        eventSnapshots = [:]
        guard let undoManager, undoManager.isUndoRegistrationEnabled else { return }
        let changes = snapshots.values.compactMap { UndoChange($0) }.sorted { $0.object.sequence < $1.object.sequence }
        guard !changes.isEmpty else { return }
        if undoManager.groupingLevel == 0, !undoManager.groupsByEvent {
            // No group is open: the event forms one.
            undoManager.beginUndoGrouping()
            defer { undoManager.endUndoGrouping() }
            undoManager.registerUndo(withTarget: self) { $0.takeBack(changes) }
        } else {
            undoManager.registerUndo(withTarget: self) { $0.takeBack(changes) }
        }
    }

    private func takeBack(_ changes: [UndoChange]) {
        var returned: Set<ObjectIdentifier> = []
        var events: [(NSManagedObject, NSSnapshotEventType)] = []
        for change in changes {
            guard case .returns(let snapshot) = change.presence else { continue }
            bringBack(snapshot)
            returned.insert(ObjectIdentifier(change.object))
            events.append((change.object, .undoDeletion))
        }
        for change in changes where !change.object.flags.contains(.detached) && change.object.contextReference === self {
            let isWhole = returned.contains(ObjectIdentifier(change.object)) && change.object.isMarkedInserted
            if !isWhole { restore(change) }
            switch change.presence {
            case .goes:
                takeOut(change.object)
                events.append((change.object, .undoInsertion))
            case .stays: events.append((change.object, .undoUpdate))
            case .returns: break
            }
        }
        for (object, event) in events where object.contextReference === self { object.awake(fromSnapshotEvents: event) }
        processPendingChanges()
    }

    /// Removes an object that the event inserted; references to it are reverted, too.
    private func takeOut(_ object: NSManagedObject) {
        willChange(object)
        markDeleted(object)
        object.flags.insert(.propagated)
    }

    private func bringBack(_ snapshot: EventSnapshot) {
        let object = snapshot.object
        if !object.flags.contains(.detached) {
            guard object.isMarkedDeleted else { return }
            willChange(object)
            object.flags.subtract([.deleted, .propagated])
            noteChanged(object)
            return updatePendingState(object, snapshot.flags ?? [])
        }
        // The object was released: it never had a row, or its deletion was saved. It becomes a new object with its former
        // identity.
        willChange(object, isPresent: false)
        if let usurper = registry[object.key], usurper !== object { forget(usurper) }
        object.resurrect(snapshot)
        object.contextReference = self
        enterInserted(object)
    }

    private func restore(_ change: UndoChange) {
        let object = change.object
        guard !change.slots.isEmpty || !change.members.isEmpty || !change.orders.isEmpty, object.willWrite() else { return }
        object.willChangeAll()
        for (slot, value) in change.slots { object.values[slot] = living(value) }
        for (relationship, joined, left) in change.members {
            for key in joined { object.toMany[relationship].remove(aliases[key] ?? key, mayBeStored: true) }
            for key in left.compactMap({ living(.reference($0)).reference }) { object.toMany[relationship].insert(key) }
        }
        for (relationship, order) in change.orders { object.toMany[relationship].resume(order, aliases) }
        updatePendingState(object, [])
    }

    /// An object that equals its row again isn't pending.
    private func updatePendingState(_ object: NSManagedObject, _ before: NSManagedObject.Flags) {
        guard !before.contains(.updated), object.flags.isDisjoint(with: [.inserted, .deleted]), object.changedSlots().isEmpty,
            !object.toMany.hasChanges
        else { return }
        object.flags.remove(.updated)
        object.committed = nil
        pending.remove(object)
    }

    /// References to concurrently deleted objects become nil.
    private func living(_ value: StoredValue) -> StoredValue {
        guard let reference = value.reference else { return value }
        let key = aliases[reference] ?? reference
        guard let registered = registry[key] else {
            // The object isn't registered: only its row tells whether it exists.
            let isGone = key.isTemporary ? parent == nil : (try? sourceRows([key]))?.isEmpty == true
            return isGone ? .null : .reference(key)
        }
        return registered.flags.contains(.detached) ? .null : .reference(key)
    }
}

extension NSManagedObject {
    /// Becomes a new object with its former values.
    fileprivate final func resurrect(_ snapshot: EventSnapshot) {
        flags = flags.intersection(.keyValueObserved)
        values = snapshot.values
        committed = nil
        version = 0
        var revived = ToManyStates(like: toMany, isNew: true)
        for index in toMany.indices {
            let currentMembers = toMany[index].stored == nil ? snapshot.toMany[index] : toMany[index]
            let snapshotMembers = snapshot.toMany[index].stored == nil ? currentMembers : snapshot.toMany[index]
            for key in snapshotMembers.order?.sorted(snapshotMembers.currentMembers) ?? snapshotMembers.currentMembers.array {
                revived[index].insert(key)
            }
        }
        toMany = revived
    }

    func changedValuesForCurrentEventImplementation() -> [String: Any] {
        guard flags.contains(.unannounced), let context = contextReference else { return [:] }
        let snapshot = context.eventSnapshots[ObjectIdentifier(self)]
        let isNew = isMarkedInserted && !flags.contains(.presented)
        let base = isNew ? layout.defaults : snapshot?.values ?? committed ?? values
        var result: [String: Any] = [:]
        for slot in values.indices where values[slot] != base[slot] {
            result[layout.entity.slots[slot].name] = apiValue(base[slot], slot: slot) ?? NSNull()
        }
        for (index, state) in toMany.enumerated() where !isNew {
            let stateBefore = snapshot?.toMany[index] ?? ToManyState(stored: state.stored, of: layout.entity.toMany[index])
            let difference = stateBefore.difference(to: state)
            guard !difference.joined.isEmpty || !difference.left.isEmpty else { continue }
            let old = toManyKeys(index).set.subtracting(difference.joined).union(difference.left)
            result[layout.entity.toMany[index].name] = Set(old.map { context.object(for: $0) }) as NSSet
        }
        return result
    }
}
