// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Sync metadata by record name, in boxes: a step that looks for pending records, or reads one property, counts the reference of a box
/// instead of the references of all texts and fields in it.
package struct MetadataTable<State: Sendable>: Sendable {
    private final class Box: Sendable {
        let state: State

        init(_ state: State) { self.state = state }
    }

    private var boxes: [String: Box] = [:]

    package var isEmpty: Bool { boxes.isEmpty }
    package var count: Int { boxes.count }
    package var keys: some Collection<String> { boxes.keys }
    package var values: [State] { filter { _ in true } }

    package subscript(name: String) -> State? { boxes[name]?.state }

    package func contains(_ name: String) -> Bool { boxes[name] != nil }

    /// Returns a property of a record's metadata.
    func value<Value>(of name: String, _ property: (State) -> Value) -> Value? { boxes[name].map { property($0.state) } }

    /// Returns the metadata that fulfils a condition, in no order.
    package func filter(_ isIncluded: (State) -> Bool) -> [State] {
        var included: [State] = []
        for box in boxes.values where isIncluded(box.state) { included.append(box.state) }
        return included
    }

    mutating func set(_ state: State, named name: String) { boxes[name] = Box(state) }

    /// - Returns: A property of the former metadata.
    mutating func replace<Value>(_ state: State, named name: String, _ property: (State) -> Value) -> Value? {
        boxes.updateValue(Box(state), forKey: name).map { property($0.state) }
    }

    @discardableResult
    mutating func remove(_ name: String) -> State? { boxes.removeValue(forKey: name)?.state }
}
