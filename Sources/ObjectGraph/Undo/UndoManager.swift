// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
public import Foundation

/// Records what takes changes back, in groups that are undone and redone as one.
///
/// What is registered while a group is being undone becomes the group that redoes it.
///
/// Foundation off Apple's platforms has no such class. Differs: an event ends where the main queue's turn ends, for
/// changes made on the main thread, and with the block of a context's `perform`; elsewhere a group that was opened by
/// an event is closed by the next ``undo()``.
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
    /// Groups that are open, the outermost first.
    private var open: [Group] = []
    /// The outermost group was opened by an event, not by ``beginUndoGrouping()``.
    private var isEventGroup = false
    private var disablings = 0

    public private(set) var isUndoing = false
    public private(set) var isRedoing = false
    /// Whether registering opens a group by itself, which ends with the event.
    open var groupsByEvent = true
    /// How many groups are kept; 0 for all.
    open var levelsOfUndo = 0 {
        didSet { trim() }
    }

    public override init() { super.init() }

    // MARK: Registering

    /// Registers what takes a change back.
    ///
    /// - Parameters:
    ///   - target: Not held; when it is gone the action does nothing.
    ///   - handler: Called with the target when the change is undone, or redone.
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

    open var isUndoRegistrationEnabled: Bool { disablings == 0 }

    /// Calls nest: as many of ``enableUndoRegistration()`` end it.
    open func disableUndoRegistration() { disablings += 1 }

    open func enableUndoRegistration() {
        precondition(disablings > 0, "enableUndoRegistration was called without disableUndoRegistration before")
        disablings -= 1
    }

    // MARK: Groups

    open var groupingLevel: Int { open.count }

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

    /// Ends the event's group and takes back the last group.
    ///
    /// - Precondition: No group is open that ``beginUndoGrouping()`` opened.
    open func undo() {
        post(.NSUndoManagerCheckpoint)
        endEvent()
        precondition(open.isEmpty, "undo was called with a group open; call endUndoGrouping first, or undoNestedGroup")
        undoNestedGroup()
    }

    /// Takes back the last group; one that is open, if it is the innermost, is none.
    open func undoNestedGroup() {
        post(.NSUndoManagerCheckpoint)
        precondition(open.isEmpty, "undoNestedGroup was called with a group open; call endUndoGrouping first")
        guard !isUndoing, !isRedoing, let group = undoStack.popLast() else { return }
        post(.NSUndoManagerWillUndoChange)
        isUndoing = true
        run(group)
        isUndoing = false
        post(.NSUndoManagerDidUndoChange)
    }

    open func redo() {
        post(.NSUndoManagerCheckpoint)
        endEvent()
        precondition(open.isEmpty, "redo was called with a group open; call endUndoGrouping first")
        guard !isUndoing, !isRedoing, let group = redoStack.popLast() else { return }
        post(.NSUndoManagerWillRedoChange)
        isRedoing = true
        run(group)
        isRedoing = false
        post(.NSUndoManagerDidRedoChange)
    }

    private func run(_ group: Group) {
        openGroup()
        open[0].name = group.name
        open[0].isDiscardable = group.isDiscardable
        Action.group(group).perform()
        while !open.isEmpty { endUndoGrouping() }
    }

    open var canUndo: Bool { !undoStack.isEmpty || open.contains { !$0.actions.isEmpty } }

    open var canRedo: Bool {
        post(.NSUndoManagerCheckpoint)
        return !redoStack.isEmpty
    }

    /// How many groups can be undone, the open one not counted.
    open var undoCount: Int { undoStack.count }
    open var redoCount: Int { redoStack.count }

    // MARK: Forgetting

    open func removeAllActions() {
        undoStack = []
        redoStack = []
        for group in open { group.actions = [] }
        disablings = 0
    }

    open func removeAllActions(withTarget target: Any) {
        let target = target as AnyObject
        for group in undoStack + redoStack + open { group.removeActions(of: target) }
        undoStack.removeAll { $0.actions.isEmpty }
        redoStack.removeAll { $0.actions.isEmpty }
    }

    // MARK: Names

    open var undoActionName: String { (open.first { !$0.actions.isEmpty } ?? undoStack.last)?.name ?? "" }
    open var redoActionName: String { redoStack.last?.name ?? "" }

    /// Names the open group, or the last one.
    open func setActionName(_ actionName: String) { (open.first ?? undoStack.last)?.name = actionName }

    open var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }
    open var redoMenuItemTitle: String { redoMenuTitle(forUndoActionName: redoActionName) }
    open func undoMenuTitle(forUndoActionName actionName: String) -> String { actionName.isEmpty ? "Undo" : "Undo \(actionName)" }
    open func redoMenuTitle(forUndoActionName actionName: String) -> String { actionName.isEmpty ? "Redo" : "Redo \(actionName)" }

    /// Whether a document without the open group's changes may count as unchanged.
    open func setActionIsDiscardable(_ discardable: Bool) { (open.last ?? undoStack.last)?.isDiscardable = discardable }
    open var undoActionIsDiscardable: Bool { undoStack.last?.isDiscardable ?? false }
    open var redoActionIsDiscardable: Bool { redoStack.last?.isDiscardable ?? false }

    private func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]? = nil) {
        NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
    }
}

public let NSUndoManagerGroupIsDiscardableKey = "NSUndoManagerGroupIsDiscardableKey"

extension Notification.Name {
    /// Who changes things lazily registers what is outstanding now.
    public static let NSUndoManagerCheckpoint = Notification.Name("NSUndoManagerCheckpointNotification")
    public static let NSUndoManagerWillUndoChange = Notification.Name("NSUndoManagerWillUndoChangeNotification")
    public static let NSUndoManagerWillRedoChange = Notification.Name("NSUndoManagerWillRedoChangeNotification")
    public static let NSUndoManagerDidUndoChange = Notification.Name("NSUndoManagerDidUndoChangeNotification")
    public static let NSUndoManagerDidRedoChange = Notification.Name("NSUndoManagerDidRedoChangeNotification")
    public static let NSUndoManagerDidOpenUndoGroup = Notification.Name("NSUndoManagerDidOpenUndoGroupNotification")
    public static let NSUndoManagerWillCloseUndoGroup = Notification.Name("NSUndoManagerWillCloseUndoGroupNotification")
    public static let NSUndoManagerDidCloseUndoGroup = Notification.Name("NSUndoManagerDidCloseUndoGroupNotification")
}
