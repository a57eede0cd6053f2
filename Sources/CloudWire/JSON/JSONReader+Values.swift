// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension JSONReader {
    package mutating func readArray<Element>(
        _ readElement: (inout JSONReader) throws(JSONFault) -> Element
    ) throws(JSONFault) -> [Element] {
        var elements: [Element] = []
        try beginArray()
        while try nextElement() { elements.append(try readElement(&self)) }
        return elements
    }

    package mutating func readArray<Element: WireMessage>(
        of type: Element.Type = Element.self
    ) throws(JSONFault) -> [Element] {
        try readArray { (reader) throws(JSONFault) in try Element(from: &reader) }
    }

    /// Reads an array, or an object that stands for an array of one element, as some clients send.
    package mutating func readArrayOrOne<Element: WireMessage>(
        of type: Element.Type = Element.self
    ) throws(JSONFault) -> [Element] {
        try peek() == .object ? [try Element(from: &self)] : try readArray()
    }

    package mutating func readStrings() throws(JSONFault) -> [String] {
        try readArray { (reader) throws(JSONFault) in try reader.readString() }
    }
}

extension Optional {
    /// Returns the value of a required key.
    ///
    /// - Parameter start: The offset of the object that lacks the key.
    func required(_ what: StaticString, at start: Int) throws(JSONFault) -> Wrapped {
        guard let self else { throw JSONFault(what, at: start) }
        return self
    }
}
