// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
public import Foundation

/// Records actions that revert changes, in groups that are undone and redone as one.
///
/// Actions registered during the undo of a group form the group that redoes it.
///
/// Foundation off Apple's platforms has no such class. Differs: an event ends with the main queue's turn, for changes on
/// the main thread, and with the block of a context's `perform`; elsewhere a group that an event opened is closed by the
/// next ``undo()``.
///
/// Used on one thread, or one queue, at a time.
///
/// Source: developer.apple.com/documentation/foundation/undomanager
open class UndoManager: NSObject {
    /// One action, or a group inside a group.
    private enum Action {
        case call(target: WeakTarget, body: () -> Void)
        case group(Group)

        func perform() {
            switch self {
            case .call(let target, let body): if target.object != nil { body() }
            case .group(let group): for action in group.actions.reversed() { action.perform() }
            }
        }
    }

    private final class WeakTarget {
        weak var object: AnyObject?
        init(_ object: AnyObject) { self.object = object }
    }

    private final class Group {
        var actions: [Action] = []
        var name = ""
        var isDiscardable = false

        func removeActions(of target: AnyObject) {
            actions = actions.filter { action in
                switch action {
                case .call(let holder, _): return holder.object != nil && holder.object !== target
                case .group(let group):
                    group.removeActions(of: target)
                    return !group.actions.isEmpty
                }
            }
        }
    }

    private var undoStack: [Group] = []
    private var redoStack: [Group] = []
    /// Open groups, outermost first.
    private var open: [Group] = []
    /// Whether an event opened the outermost group, not ``beginUndoGrouping()``.
    private var isEventGroup = false
    private var disablings = 0

    /// Whether a group is being undone.
    public private(set) var isUndoing = false
    /// Whether a group is being redone.
    public private(set) var isRedoing = false
    /// Whether registering an action opens a group, which ends with the event.
    open var groupsByEvent = true
    /// The largest number of groups; 0 for no limit.
    open var levelsOfUndo = 0 {
        didSet { trim() }
    }

    public override init() { super.init() }

    // MARK: Registering

    /// Registers an action that reverts a change.
    ///
    /// - Parameters:
    ///   - target: Not retained; once it is deallocated the action has no effect.
    ///   - handler: Called with the target when the change is undone or redone.
    /// - Precondition: A group is open, or ``groupsByEvent`` is on.
    open func registerUndo<TargetType: AnyObject>(withTarget target: TargetType, handler: @escaping (TargetType) -> Void) {
        guard isUndoRegistrationEnabled else { return }
        if open.isEmpty {
            precondition(groupsByEvent, "registerUndo was called outside an undo group; call beginUndoGrouping first")
            isEventGroup = true
            openGroup()
            closeWhenTheEventEnds()
        }
        if !isUndoing, !isRedoing { redoStack = [] }
        let holder = WeakTarget(target)
        open[open.count - 1].actions.append(
            .call(target: holder) { [unowned holder] in
                if let target = holder.object as? TargetType { handler(target) }
            })
    }

    /// Whether actions are registered.
    open var isUndoRegistrationEnabled: Bool { disablings == 0 }

    /// Ignores registrations until as many calls of ``enableUndoRegistration()``.
    open func disableUndoRegistration() { disablings += 1 }

    /// Reverts one call of ``disableUndoRegistration()``.
    ///
    /// - Precondition: Registration is disabled.
    open func enableUndoRegistration() {
        precondition(disablings > 0, "enableUndoRegistration was called without disableUndoRegistration before")
        disablings -= 1
    }

    // MARK: Groups

    /// The number of open groups.
    open var groupingLevel: Int { open.count }

    /// Opens a group, inside the open one if there is one.
    open func beginUndoGrouping() {
        if open.isEmpty {
            isEventGroup = false
            if groupsByEvent, !isUndoing, !isRedoing {
                isEventGroup = true
                openGroup()
                closeWhenTheEventEnds()
            }
        }
        if !open.isEmpty { post(.NSUndoManagerCheckpoint) }
        openGroup()
    }

    /// Closes the innermost group.
    ///
    /// - Precondition: A group is open.
    open func endUndoGrouping() {
        precondition(!open.isEmpty, "endUndoGrouping was called without beginUndoGrouping before")
        post(.NSUndoManagerCheckpoint)
        post(.NSUndoManagerWillCloseUndoGroup, [NSUndoManagerGroupIsDiscardableKey: open[open.count - 1].isDiscardable])
        let group = open.removeLast()
        if !group.actions.isEmpty {
            if let outer = open.last {
                outer.actions.append(.group(group))
                if outer.name.isEmpty { outer.name = group.name }
            } else if isUndoing {
                redoStack.append(group)
            } else {
                undoStack.append(group)
                trim()
            }
        }
        if open.isEmpty { isEventGroup = false }
        post(.NSUndoManagerDidCloseUndoGroup)
    }

    /// Closes the group that the current event opened.
    package func endEvent() {
        if isEventGroup, open.count == 1, !isUndoing, !isRedoing { endUndoGrouping() }
    }

    private func openGroup() {
        open.append(Group())
        post(.NSUndoManagerDidOpenUndoGroup)
    }

    private func closeWhenTheEventEnds() {
        guard Thread.isMainThread else { return }
        let reference = Unchecked(WeakTarget(self))
        // Unchecked: the main thread opened the group and closes it.
        DispatchQueue.main.async { (reference.value.object as? UndoManager)?.endEvent() }
    }

    private func trim() {
        guard levelsOfUndo > 0 else { return }
        undoStack.removeFirst(max(0, undoStack.count - levelsOfUndo))
        redoStack.removeFirst(max(0, redoStack.count - levelsOfUndo))
    }

    // MARK: Undoing

    /// Ends the event's group and undoes the last group.
    ///
    /// - Precondition: No group opened by ``beginUndoGrouping()`` is open.
    open func undo() {
        post(.NSUndoManagerCheckpoint)
        endEvent()
        precondition(open.isEmpty, "undo was called with a group open; call endUndoGrouping first, or undoNestedGroup")
        undoNestedGroup()
    }

    /// Undoes the last closed group.
    open func undoNestedGroup() {
        post(.NSUndoManagerCheckpoint)
        precondition(open.isEmpty, "undoNestedGroup was called with a group open; call endUndoGrouping first")
        guard !isUndoing, !isRedoing, let group = undoStack.popLast() else { return }
        post(.NSUndoManagerWillUndoChange)
        isUndoing = true
        perform(group)
        isUndoing = false
        post(.NSUndoManagerDidUndoChange)
    }

    /// Redoes the group undone last.
    open func redo() {
        post(.NSUndoManagerCheckpoint)
        endEvent()
        precondition(open.isEmpty, "redo was called with a group open; call endUndoGrouping first")
        guard !isUndoing, !isRedoing, let group = redoStack.popLast() else { return }
        post(.NSUndoManagerWillRedoChange)
        isRedoing = true
        perform(group)
        isRedoing = false
        post(.NSUndoManagerDidRedoChange)
    }

    private func perform(_ group: Group) {
        openGroup()
        open[0].name = group.name
        open[0].isDiscardable = group.isDiscardable
        Action.group(group).perform()
        while !open.isEmpty { endUndoGrouping() }
    }

    /// Whether ``undo()`` has a group to undo.
    open var canUndo: Bool { !undoStack.isEmpty || open.contains { !$0.actions.isEmpty } }

    /// Whether ``redo()`` has a group to redo.
    open var canRedo: Bool {
        post(.NSUndoManagerCheckpoint)
        return !redoStack.isEmpty
    }

    /// The number of groups to undo, without the open one.
    open var undoCount: Int { undoStack.count }
    /// The number of groups to redo.
    open var redoCount: Int { redoStack.count }

    // MARK: Removing

    /// Removes all groups, and enables registration.
    open func removeAllActions() {
        undoStack = []
        redoStack = []
        for group in open { group.actions = [] }
        disablings = 0
    }

    /// Removes the actions of a target.
    open func removeAllActions(withTarget target: Any) {
        let target = target as AnyObject
        for group in undoStack + redoStack + open { group.removeActions(of: target) }
        undoStack.removeAll { $0.actions.isEmpty }
        redoStack.removeAll { $0.actions.isEmpty }
    }

    // MARK: Names

    /// The name of the next group to undo; empty without a name.
    open var undoActionName: String { (open.first { !$0.actions.isEmpty } ?? undoStack.last)?.name ?? "" }
    /// The name of the next group to redo; empty without a name.
    open var redoActionName: String { redoStack.last?.name ?? "" }

    /// Names the open group, or the last one.
    open func setActionName(_ actionName: String) { (open.first ?? undoStack.last)?.name = actionName }

    /// The title of a menu item that undoes the next group.
    open var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }
    /// The title of a menu item that redoes the next group.
    open var redoMenuItemTitle: String { redoMenuTitle(forUndoActionName: redoActionName) }
    /// Returns the title of a menu item that undoes a group of that name.
    open func undoMenuTitle(forUndoActionName actionName: String) -> String { actionName.isEmpty ? "Undo" : "Undo \(actionName)" }
    /// Returns the title of a menu item that redoes a group of that name.
    open func redoMenuTitle(forUndoActionName actionName: String) -> String { actionName.isEmpty ? "Redo" : "Redo \(actionName)" }

    /// Sets whether a document without the open group's changes counts as unchanged.
    open func setActionIsDiscardable(_ discardable: Bool) { (open.last ?? undoStack.last)?.isDiscardable = discardable }
    /// Whether the next group to undo is discardable.
    open var undoActionIsDiscardable: Bool { undoStack.last?.isDiscardable ?? false }
    /// Whether the next group to redo is discardable.
    open var redoActionIsDiscardable: Bool { redoStack.last?.isDiscardable ?? false }

    private func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]? = nil) {
        NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
    }
}

/// The user-info key of a group's discardability.
public let NSUndoManagerGroupIsDiscardableKey = "NSUndoManagerGroupIsDiscardableKey"

extension Notification.Name {
    /// Posted before the groups are inspected: code with deferred changes registers them now.
    public static let NSUndoManagerCheckpoint = Notification.Name("NSUndoManagerCheckpointNotification")
    /// Posted before a group is undone.
    public static let NSUndoManagerWillUndoChange = Notification.Name("NSUndoManagerWillUndoChangeNotification")
    /// Posted before a group is redone.
    public static let NSUndoManagerWillRedoChange = Notification.Name("NSUndoManagerWillRedoChangeNotification")
    /// Posted after a group was undone.
    public static let NSUndoManagerDidUndoChange = Notification.Name("NSUndoManagerDidUndoChangeNotification")
    /// Posted after a group was redone.
    public static let NSUndoManagerDidRedoChange = Notification.Name("NSUndoManagerDidRedoChangeNotification")
    /// Posted after a group was opened.
    public static let NSUndoManagerDidOpenUndoGroup = Notification.Name("NSUndoManagerDidOpenUndoGroupNotification")
    /// Posted before a group is closed.
    public static let NSUndoManagerWillCloseUndoGroup = Notification.Name("NSUndoManagerWillCloseUndoGroupNotification")
    /// Posted after a group was closed.
    public static let NSUndoManagerDidCloseUndoGroup = Notification.Name("NSUndoManagerDidCloseUndoGroupNotification")
}
