// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Operations that are due. They run in the order of the properties: reset, set-up, import, export.
package struct PendingWork: Hashable, Sendable {
    package enum Import: Hashable, Sendable {
        case none
        /// Notifications are the only reason, so that the changes they carried may replace a request.
        case pushed
        case requested
    }

    var reset: SyncMachine.Reset?
    var setUp = true
    private(set) var `import` = Import.requested
    private(set) var export = true
    /// Whether the push stream has to be opened.
    private(set) var opensPushStream = true

    mutating func scheduleImport() { `import` = .requested }

    mutating func schedulePushedImport() { if `import` == .none { `import` = .pushed } }

    mutating func scheduleExport() { export = true }

    mutating func scheduleBoth() {
        scheduleImport()
        scheduleExport()
    }

    /// An account change closes the push stream, which belongs to the former user.
    mutating func scheduleSetUpForAccount() {
        setUp = true
        opensPushStream = true
    }

    mutating func cancelExport() { export = false }

    /// Removes the first operation that is due and returns it.
    mutating func popFirst() -> Kind? {
        if let due = reset {
            reset = nil
            return .reset(due)
        }
        if setUp {
            setUp = false
            return .setUp
        }
        if `import` != .none {
            defer { `import` = .none }
            return .import(isPushed: `import` == .pushed)
        }
        if export {
            export = false
            return .export
        }
        return nil
    }

    /// - Returns: Whether the push stream has to be opened now.
    mutating func takePushStream() -> Bool {
        defer { opensPushStream = false }
        return opensPushStream
    }

    enum Kind: Hashable {
        case reset(SyncMachine.Reset)
        case setUp
        case `import`(isPushed: Bool)
        case export
    }
}
