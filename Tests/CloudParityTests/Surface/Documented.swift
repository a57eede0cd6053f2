// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

/// Compares the raw value of a case or an option with the documented one.
func expectDocumented<Value: RawRepresentable>(_ name: String, _ value: Value, _ documented: Int)
where Value.RawValue: BinaryInteger {
    #expect(Int(value.rawValue) == documented, "\(name)")
}

/// Compares the text of a notification's name with the documented one.
func expectDocumented<Value: RawRepresentable<String>>(_ name: String, _ value: Value, _ documented: String) {
    #expect(value.rawValue == documented, "\(name)")
}

/// Compares the text of a key or a name with the documented one.
func expectDocumented(_ name: String, _ value: String, _ documented: String) {
    #expect(value == documented, "\(name)")
}

/// Compares a number with the documented one.
func expectDocumented(_ name: String, _ value: Int, _ documented: Int) {
    #expect(value == documented, "\(name)")
}
