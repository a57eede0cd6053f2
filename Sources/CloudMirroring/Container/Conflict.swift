// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// The losing value of two concurrent changes. The log keeps it until the app forgets it, or until 10,000 newer ones follow.
    ///
    /// Differs: Apple's container drops the value.
    public struct Conflict: Identifiable, Sendable {
        /// The change that the losing value lost against.
        public enum Winner: Int, Hashable, Sendable {
            /// A value of this device, which reached the server later.
            case valueSetHere = 0
            /// The object was deleted on another device; the losing value was set here.
            case deletionElsewhere = 1
            /// The object was deleted here; the losing value came from another device.
            case deletionHere = 2
            /// A value of another device, by the attribute's `syncPolicy` or by the app's resolver; the losing value was set here.
            case valueSetElsewhere = 3
        }

        /// Identifies an entry of the conflict log in this process.
        public struct ID: Hashable, Sendable {
            let store: UInt16
            let row: Int64
        }

        /// The entry's identifier.
        public let id: ID
        /// When the conflict was found, by this device's clock.
        public let date: Date
        /// The name of the object's entity.
        public let entityName: String
        /// The name of the attribute or the relationship.
        public let propertyName: String
        /// The change that won.
        public let winner: Winner
        /// When the losing value reached the server, by its clock; nil for a value that was never sent.
        public let losingDate: Date?
        /// The object; nil if it is deleted.
        public let objectID: NSManagedObjectID?
        let recordName: String
        let content: Content

        enum Content: Sendable {
            case attribute(StoredValue, Attribute)
            /// nil for a relationship that was cleared, or for a deleted target.
            case target(NSManagedObjectID?)
            /// An asset that was never fetched, or a property that the model lost.
            case unknown
        }

        /// The value as `value(forKey:)` returns it; the object's ID for a relationship; nil if the losing side had cleared the property.
        public var losingValue: Any? {
            switch content {
            case .attribute(let value, let attribute): AttributeCoding.value(value, of: attribute)
            case .target(let id): id
            case .unknown: nil
            }
        }
    }
}
