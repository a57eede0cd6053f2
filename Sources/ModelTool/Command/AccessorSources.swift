// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The sources of a target, and of what it depends on.
package final class AccessorSources {
    package let own: SourceIndex
    private let read: () -> [SourceIndex]?

    /// Most types and classes are the module's own or Foundation's; reading what it depends on takes longer than all the
    /// rest, so it is put off until something is looked for there. What cannot be read has no declarations.
    package private(set) lazy var dependencies: [SourceIndex] = read() ?? []

    package init(_ own: SourceIndex, dependencies read: @escaping () -> [SourceIndex]?) {
        self.own = own
        self.read = read
    }
}
