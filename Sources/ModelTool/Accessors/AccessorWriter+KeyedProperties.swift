// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension AccessorWriter {
    /// The list by which key-value coding finds properties that are marked `@objc`; empty when there are none.
    func keyedProperties() -> String {
        let lines = own.keyed.filter(isVisible).map { property -> String in
            let owner = property.scope.joined(separator: ".")
            let access = "get: { $0.`\(property.name)` }" + (property.isSettable ? ", set: { $0.`\(property.name)` = $1 }" : "")
            let text = names(of: property).map { "        table.add(\"\($0)\", of: \(owner).self, \(access))\n" }.joined()
            return property.conditions.map { "#if \($0)\n" }.joined() + text + property.conditions.map { _ in "#endif\n" }.joined()
        }
        guard !lines.isEmpty else { return "" }
        return """
            final class \(own.module)KeyedProperties: CoreData.KeyedPropertyRegistration {
                override class func add(to table: inout CoreData.KeyedProperties) {
            \(lines.joined())    }
            }

            """
    }

    /// A getter that is called `isDone` also answers for `done`.
    ///
    /// Source: Key-Value Coding Programming Guide, "Accessor Search Patterns".
    private func names(of property: SourceIndex.KeyedProperty) -> [String] {
        let rest = property.key.dropFirst(2)
        guard property.key.hasPrefix("is"), let first = rest.first, first.isUppercase else { return [property.key] }
        return [property.key, first.lowercased() + rest.dropFirst()]
    }

    private func isVisible(_ property: SourceIndex.KeyedProperty) -> Bool {
        let types = property.scope.indices.map { own.types[property.scope[...$0].joined(separator: ".")] }
        let isClass = types.last??.kind ?? .class == .class
        return isClass && types.allSatisfy { $0?.access.isHidden != true }
    }
}
