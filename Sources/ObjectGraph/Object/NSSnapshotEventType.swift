// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Why an object's values were replaced. Raw values are Apple's.
public struct NSSnapshotEventType: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let undoInsertion = Self(rawValue: 2)
    public static let undoDeletion = Self(rawValue: 4)
    public static let undoUpdate = Self(rawValue: 8)
    public static let rollback = Self(rawValue: 16)
    public static let refresh = Self(rawValue: 32)
    public static let mergePolicy = Self(rawValue: 64)
}
