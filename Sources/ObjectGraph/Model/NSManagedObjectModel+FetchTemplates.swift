// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit

// Fetch requests with names, from a model file or set in code; their predicates may have variables.
//
// Source: developer.apple.com/documentation/coredata/nsmanagedobjectmodel, "Working with Fetch Requests"
extension NSManagedObjectModel {
    public var fetchRequestTemplatesByName: [String: NSFetchRequest<any NSFetchRequestResult>] { fetchTemplates }

    /// The model's own request: copy it before changing it.
    ///
    /// - Returns: nil when the model has none of the name.
    public func fetchRequestTemplate(forName name: String) -> NSFetchRequest<any NSFetchRequestResult>? { fetchTemplates[name] }

    /// - Parameter fetchRequestTemplate: nil to remove the request of that name.
    /// - Precondition: The model is not in use.
    public func setFetchRequestTemplate(_ fetchRequestTemplate: NSFetchRequest<any NSFetchRequestResult>?, forName name: String) {
        preconditionIsMutable()
        fetchTemplates[name] = fetchRequestTemplate
    }

    /// A copy of a request, which may be changed, with values for the variables of its predicate.
    ///
    /// - Parameter variables: Names without `$`. A value of `NSNull` stands for nil.
    /// - Returns: nil when the model has no request of the name.
    /// - Precondition: There is a value for every variable. Source: Apple raises an exception where one is missing.
    public func fetchRequestFromTemplate(
        withName name: String, substitutionVariables variables: [String: Any]
    ) -> NSFetchRequest<any NSFetchRequestResult>? {
        guard let template = fetchTemplates[name] else { return nil }
        let request = NSFetchRequest<any NSFetchRequestResult>(copying: template)
        guard let predicate = template.predicate else { return request }
        let missing = predicate.tree.variables.subtracting(variables.keys)
        precondition(
            missing.isEmpty, "fetch request '\(name)' needs a value for \(missing.sorted().map { "$\($0)" }.joined(separator: ", "))")
        request.predicate = predicate.withSubstitutionVariables(variables)
        return request
    }
}
