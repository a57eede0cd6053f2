// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit

// Named fetch requests, from a model file or set in code; their predicates may have variables.
//
// Source: developer.apple.com/documentation/coredata/nsmanagedobjectmodel, "Working with Fetch Requests"
extension NSManagedObjectModel {
    func fetchRequestTemplateImplementation(forName name: String) -> NSFetchRequest<any NSFetchRequestResult>? { fetchTemplates[name] }

    func setFetchRequestTemplateImplementation(_ fetchRequestTemplate: NSFetchRequest<any NSFetchRequestResult>?, forName name: String) {
        preconditionIsMutable()
        fetchTemplates[name] = fetchRequestTemplate
    }

    func fetchRequestFromTemplateImplementation(
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
