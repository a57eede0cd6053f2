// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A value that copies share until one of them changes it: a copy counts one reference, however many texts and collections are in the
/// value.
struct SharedValue<Value: Hashable & Sendable>: Hashable, Sendable {
    // Unchecked: a box is changed only while one copy refers to it.
    private final class Box: @unchecked Sendable {
        @exclusivity(unchecked) var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    init(_ value: Value) { box = Box(value) }

    var value: Value {
        _read { yield box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }

    static func == (one: SharedValue, other: SharedValue) -> Bool { one.box === other.box || one.box.value == other.box.value }

    func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}
