// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import PredicateKit

/// A property whose value is what a request finds: a weak, one-way link that may lead into other stores.
///
/// In the request's predicate `$FETCH_SOURCE` is the object and `$FETCHED_PROPERTY` this description. The result is
/// kept until the object is refreshed.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchedpropertydescription
open class NSFetchedPropertyDescription: NSPropertyDescription {
    open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?
    private var declared = FetchedProperty(name: "", request: FetchTemplate(name: "", entity: ""))

    public override init() { super.init() }

    init(_ property: FetchedProperty) {
        super.init()
        declared = property
        name = property.name
        isOptional = property.isOptional
        userInfo = property.userInfo
        let request = NSFetchRequest<any NSFetchRequestResult>(entityName: property.request.entity)
        request.predicate = property.request.predicateFormat.flatMap { format in
            (try? PredicateKit.Predicate(format: format)).map { _ in NSPredicate(format: format) }
        }
        request.fetchLimit = property.request.fetchLimit
        request.includesSubentities = property.request.includesSubentities
        fetchRequest = request
    }

    var value: FetchedProperty {
        var property = declared
        property.name = name
        property.isOptional = isOptional
        property.userInfo = strings(of: userInfo)
        property.request.entity = fetchRequest?.entityName ?? fetchRequest?.entity?.name ?? ""
        property.request.predicateFormat = fetchRequest?.predicate.flatMap { parsed($0)?.formatDescription }
        property.request.fetchLimit = fetchRequest?.fetchLimit ?? 0
        property.request.includesSubentities = fetchRequest?.includesSubentities ?? true
        return property
    }
}
