// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
public import PredicateKit

/// A property with the result of a fetch as its value. In its predicate `$FETCH_SOURCE` is the object, and
/// `$FETCHED_PROPERTY` this description.
///
/// Source: developer.apple.com/documentation/coredata/nsfetchedpropertydescription
open class NSFetchedPropertyDescription: NSPropertyDescription {
    /// The fetch that computes the value.
    open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? { willSet { preconditionIsMutable() } }
    /// Values without API stay as in the model file.
    private var declared = FetchedProperty(name: "", request: FetchTemplate(name: "", entity: ""))

    public override init() { super.init() }

    init(_ property: FetchedProperty) {
        super.init()
        declared = property
        name = property.name
        isOptional = property.isOptional
        userInfo = property.userInfo
        renamingIdentifier = property.renamingIdentifier
        versionHashModifier = property.versionHashModifier
        fetchRequest = property.request.request()
    }

    var value: FetchedProperty {
        var property = declared
        property.name = name
        property.isOptional = isOptional
        property.userInfo = strings(of: userInfo)
        property.renamingIdentifier = explicitRenamingIdentifier
        property.versionHashModifier = versionHashModifier
        if let fetchRequest { property.request.setValues(from: fetchRequest) }
        return property
    }

    override var hashInput: [String] {
        let request = value.request
        return super.hashInput + ["fetched", request.entity, request.predicateFormat ?? ""]
    }

    override func emptyCopy() -> NSPropertyDescription { NSFetchedPropertyDescription() }

    override func copyValues(from other: NSPropertyDescription) {
        super.copyValues(from: other)
        guard let other = other as? NSFetchedPropertyDescription else { return }
        declared = other.declared
        fetchRequest = other.fetchRequest
    }
}

/// A column computed by a fetch with dictionary results, or by an index. Entities do not have such properties.
///
/// Source: developer.apple.com/documentation/coredata/nsexpressiondescription
open class NSExpressionDescription: NSPropertyDescription {
    /// The type of the result.
    open var expressionResultType: NSAttributeType = .undefinedAttributeType
    /// The computed expression.
    open var expression: PredicateKit.NSExpression?

    public override init() { super.init() }

    /// The expression of a model file's index. The model compiler reports one that cannot be parsed.
    convenience init(_ format: String, _ type: AttributeType) {
        self.init()
        name = format
        expression = (try? PredicateKit.Expression(format: format)).map { PredicateKit.NSExpression(tree: $0) }
        expressionResultType = NSAttributeType(rawValue: UInt(type.rawValue)) ?? .undefinedAttributeType
    }

    /// The type of the result, in Swift's spelling.
    public var resultType: NSAttributeDescription.AttributeType {
        get { NSAttributeDescription.AttributeType(rawValue: expressionResultType.rawValue) }
        set { expressionResultType = NSAttributeType(rawValue: newValue.rawValue) ?? .undefinedAttributeType }
    }

    override func emptyCopy() -> NSPropertyDescription { NSExpressionDescription() }

    override func copyValues(from other: NSPropertyDescription) {
        super.copyValues(from: other)
        guard let other = other as? NSExpressionDescription else { return }
        expressionResultType = other.expressionResultType
        expression = other.expression
    }
}

extension FetchTemplate {
    /// The request in a model file. A predicate that cannot be parsed is reported when the model is frozen, so it is
    /// omitted here.
    func request() -> NSFetchRequest<any NSFetchRequestResult> {
        let request = NSFetchRequest<any NSFetchRequestResult>(entityName: entity)
        request.predicate = predicateFormat.flatMap { try? NSPredicate.made(PredicateKit.Predicate(format: $0, [])) }
        request.fetchLimit = fetchLimit
        request.fetchBatchSize = fetchBatchSize
        request.resultType = NSFetchRequestResultType(rawValue: UInt(resultType))
        request.includesSubentities = includesSubentities
        request.includesPropertyValues = includesPropertyValues
        request.includesPendingChanges = includesPendingChanges
        request.returnsObjectsAsFaults = returnsObjectsAsFaults
        request.returnsDistinctResults = returnsDistinctResults
        return request
    }

    mutating func setValues(from request: NSFetchRequest<any NSFetchRequestResult>) {
        entity = request.entityName ?? entity
        if let predicate = request.predicate { predicateFormat = parsed(predicate)?.formatDescription }
        fetchLimit = request.fetchLimit
        fetchBatchSize = request.fetchBatchSize
        resultType = Int(request.resultType.rawValue)
        includesSubentities = request.includesSubentities
        includesPropertyValues = request.includesPropertyValues
        includesPendingChanges = request.includesPendingChanges
        returnsObjectsAsFaults = request.returnsObjectsAsFaults
        returnsDistinctResults = request.returnsDistinctResults
    }
}
