// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The sources of a target, and of its dependencies.
package final class AccessorSources {
    package let own: SourceIndex
    private let read: () -> [SourceIndex]?

    /// Most types and classes are the module's own or Foundation's; reading the dependencies takes longer than everything
    /// else, so they are read at the first lookup. A dependency that cannot be read has no declarations.
    package private(set) lazy var dependencies: [SourceIndex] = read() ?? []

    package init(_ own: SourceIndex, dependencies read: @escaping () -> [SourceIndex]?) {
        self.own = own
        self.read = read
    }
}
