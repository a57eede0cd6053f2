// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// A model together with the parts of its file that the model does not hold, so that the file can be written again
/// without loss: spellings of values, parts without effect (versions of tools, positions in the editor), unknown parts.
package struct ModelDocument: Hashable, Sendable {
    package var model: Model
    /// The module that a class name with a leading dot belongs to.
    package var module: String?
    var sourceForms: [String: SourceForm]

    /// A model without a file.
    package init(_ model: Model) { self.init(model, module: nil, sourceForms: [:]) }

    init(_ model: Model, module: String?, sourceForms: [String: SourceForm]) {
        self.model = model
        self.module = module
        self.sourceForms = sourceForms
    }

    /// Where a subject stands. Composites, and the requests of fetched properties, share their names with others.
    package enum Namespace: String {
        case entities = ""
        case composites = "composite "
        case fetchedRequests = "request of "

        package func key(_ subject: String) -> String { rawValue + subject }
    }

    /// The source of one element.
    package struct SourceForm: Hashable, Sendable {
        /// The element from the file; nil for a part without a file.
        package var source: SourceElement?
        /// Every attribute as it is spelled.
        package var spellings: [String: String] = [:]
        /// Those that the model does not hold.
        package var carried: [String: String] = [:]
        /// Children that the model does not hold.
        package var children: [SourceElement] = []
    }

    package func sourceForm(of subject: String, in namespace: Namespace = .entities) -> SourceForm? { sourceForms[namespace.key(subject)] }
}
