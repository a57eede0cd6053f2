// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The reason for replacing an object's values. Raw values are Apple's.
public struct NSSnapshotEventType: OptionSet, Sendable {
    /// Apple's raw value.
    public let rawValue: UInt
    /// Creates a reason from Apple's raw value.
    public init(rawValue: UInt) { self.rawValue = rawValue }
    /// An insertion was undone.
    public static let undoInsertion = Self(rawValue: 2)
    /// A deletion was undone.
    public static let undoDeletion = Self(rawValue: 4)
    /// A change was undone or redone.
    public static let undoUpdate = Self(rawValue: 8)
    /// The context rolled back.
    public static let rollback = Self(rawValue: 16)
    /// The object was refreshed.
    public static let refresh = Self(rawValue: 32)
    /// A merge policy resolved a conflict.
    public static let mergePolicy = Self(rawValue: 64)
}
