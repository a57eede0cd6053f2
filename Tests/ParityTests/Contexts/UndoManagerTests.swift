// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite @MainActor struct UndoManagerTests {
    /// A list with undo.
    private final class List {
        var items: [Int] = []
        let undoManager = UndoManager()

        init(groupsByEvent: Bool = false) { undoManager.groupsByEvent = groupsByEvent }

        func add(_ item: Int) {
            items.append(item)
            undoManager.registerUndo(withTarget: self) { list in list.remove(item) }
        }

        func remove(_ item: Int) {
            items.removeAll { $0 == item }
            undoManager.registerUndo(withTarget: self) { list in list.add(item) }
        }

        func group(_ name: String? = nil, _ body: () -> Void) {
            undoManager.beginUndoGrouping()
            body()
            if let name { undoManager.setActionName(name) }
            undoManager.endUndoGrouping()
        }
    }

    @Test func anUndoGroupIsUndoneAndRedoneAsOne() {
        let list = List()
        #expect(!list.undoManager.canUndo)
        #expect(!list.undoManager.canRedo)
        list.group {
            list.add(1)
            list.add(2)
        }
        list.group { list.add(3) }
        #expect(list.undoManager.canUndo)
        #expect(list.undoManager.groupingLevel == 0)
        list.undoManager.undo()
        #expect(list.items == [1, 2])
        #expect(list.undoManager.canRedo)
        list.undoManager.undo()
        #expect(list.items == [])
        #expect(!list.undoManager.canUndo)
        list.undoManager.redo()
        #expect(list.items == [1, 2])
        list.undoManager.redo()
        #expect(list.items == [1, 2, 3])
        #expect(!list.undoManager.canRedo)
        list.undoManager.undo()
        #expect(list.items == [1, 2])
        list.group { list.add(4) }
        #expect(!list.undoManager.canRedo)
    }

    @Test func undoGroupsNest() {
        let list = List()
        list.group {
            list.add(1)
            #expect(list.undoManager.groupingLevel == 1)
            list.group {
                list.add(2)
                #expect(list.undoManager.groupingLevel == 2)
            }
            list.add(3)
        }
        list.undoManager.undo()
        #expect(list.items == [])
        #expect(!list.undoManager.canUndo)
        list.undoManager.redo()
        #expect(list.items == [1, 2, 3])
    }

    @Test func actionNamesFollowTheirUndoGroups() {
        let list = List()
        list.group("Add One") { list.add(1) }
        list.group("Add Two") { list.add(2) }
        let manager = list.undoManager
        #expect(manager.undoActionName == "Add Two")
        #expect(manager.redoActionName == "")
        manager.undo()
        #expect(manager.undoActionName == "Add One")
        #expect(manager.redoActionName == "Add Two")
        manager.undo()
        #expect(manager.undoActionName == "")
        #expect(manager.redoActionName == "Add One")
        manager.redo()
        #expect(manager.undoActionName == "Add One")
        #expect(manager.undoMenuTitle(forUndoActionName: "Typing").contains("Typing"))
        #expect(manager.redoMenuItemTitle.contains("Add Two"))
    }

    @Test func undoRegistrationCanBeDisabled() {
        let list = List()
        list.undoManager.disableUndoRegistration()
        list.undoManager.disableUndoRegistration()
        list.add(1)
        list.undoManager.enableUndoRegistration()
        #expect(!list.undoManager.isUndoRegistrationEnabled)
        list.add(2)
        list.undoManager.enableUndoRegistration()
        #expect(list.undoManager.isUndoRegistrationEnabled)
        #expect(!list.undoManager.canUndo)
        #expect(list.items == [1, 2])
        list.group { list.add(3) }
        #expect(list.undoManager.canUndo)
    }

    @Test func levelsOfUndoLimitsTheNumberOfGroups() {
        let list = List()
        list.undoManager.levelsOfUndo = 2
        for item in 1...4 { list.group { list.add(item) } }
        for _ in 0..<4 { list.undoManager.undo() }
        #expect(list.items == [1, 2])
        list.undoManager.levelsOfUndo = 1
        list.undoManager.redo()
        list.undoManager.redo()
        #expect(list.items == [1, 2, 3])
    }

    @Test func undoActionsOfATargetCanBeRemoved() {
        let (list, other) = (List(), List())
        list.group { list.add(1) }
        list.group { list.undoManager.registerUndo(withTarget: other) { $0.items = [9] } }
        list.undoManager.removeAllActions(withTarget: other)
        list.undoManager.undo()
        #expect(list.items == [])
        #expect(other.items == [])
        list.undoManager.removeAllActions()
        #expect(!list.undoManager.canUndo)
        #expect(!list.undoManager.canRedo)
    }

    @Test func groupsByEventMakesOneGroupPerEvent() {
        let list = List(groupsByEvent: true)
        list.add(1)
        #expect(list.undoManager.groupingLevel == 1)
        list.add(2)
        list.undoManager.undo()
        #expect(list.items == [])
        #expect(list.undoManager.groupingLevel == 0)
        list.undoManager.redo()
        #expect(list.items == [1, 2])
    }

    @Test func undoManagersPostNotificationsOfGroupsAndUndo() {
        let list = List()
        let names: [Notification.Name] = [
            .NSUndoManagerDidOpenUndoGroup, .NSUndoManagerWillCloseUndoGroup, .NSUndoManagerDidCloseUndoGroup,
            .NSUndoManagerWillUndoChange, .NSUndoManagerDidUndoChange, .NSUndoManagerWillRedoChange, .NSUndoManagerDidRedoChange,
        ]
        let heard = names.map { Heard($0, from: list.undoManager) }
        list.group { list.add(1) }
        #expect(heard.map { $0.take().count } == [1, 1, 1, 0, 0, 0, 0])
        list.undoManager.undo()
        #expect(heard[3...].map { $0.take().count } == [1, 1, 0, 0])
        list.undoManager.redo()
        #expect(heard[3...].map { $0.take().count } == [0, 0, 1, 1])
    }

    @Test func undoHandlersSeeIsUndoingAndIsRedoing() {
        let manager = UndoManager()
        manager.groupsByEvent = false
        var seen: [String] = []
        func act() {
            seen.append(manager.isUndoing ? "undoing" : manager.isRedoing ? "redoing" : "doing")
            manager.registerUndo(withTarget: manager) { _ in act() }
        }
        manager.beginUndoGrouping()
        act()
        manager.endUndoGrouping()
        manager.undo()
        manager.redo()
        manager.undo()
        #expect(seen == ["doing", "undoing", "redoing", "undoing"])
    }
}
