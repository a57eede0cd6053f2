// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The classes that a package's models generate whole, and the places of that setting.
struct GeneratedClasses {
    struct Place {
        /// The position of the model file among those that were read.
        var model: Int
        /// Where the value of `codeGenerationType` stands, in UTF-8 code units.
        var codeGeneration: Range<Int>
        /// The class of the entity's parent.
        var superclass: String
    }

    /// By class name; one for each version of a model.
    private(set) var places: [String: [Place]] = [:]

    /// - Parameter texts: `contents` of model versions.
    init(_ texts: [String]) {
        for (model, text) in texts.enumerated() {
            let entities = text.matches(of: /<entity\s[^>]*>/).map { Self.attributes(text, $0.range) }
            var classes: [String: String] = [:]
            for entity in entities { if let name = entity["name"]?.value { classes[name] = Self.className(entity) } }
            for entity in entities {
                guard let generation = entity["codeGenerationType"], ["class", "class definition"].contains(generation.value.lowercased()),
                    let name = Self.className(entity), name != "NSManagedObject"
                else { continue }
                let parent = entity["parentEntity"].flatMap { classes[$0.value] }
                places[name, default: []].append(
                    Place(model: model, codeGeneration: generation.range, superclass: parent ?? "NSManagedObject"))
            }
        }
    }

    /// Without its module.
    private static func className(_ entity: [String: (value: String, range: Range<Int>)]) -> String? {
        let name = entity["representedClassName"]?.value ?? entity["name"]?.value
        return name?.split(separator: ".").last.map(String.init)
    }

    private static func attributes(_ text: String, _ range: Range<String.Index>) -> [String: (value: String, range: Range<Int>)] {
        var result: [String: (value: String, range: Range<Int>)] = [:]
        for match in text[range].matches(of: /([A-Za-z]+)\s*=\s*"([^"]*)"/) {
            let value = match.output.2
            let start = text.utf8.distance(from: text.startIndex, to: value.startIndex)
            result[String(match.output.1)] = (String(value), start..<start + value.utf8.count)
        }
        return result
    }
}
