// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph

extension NSPersistentCloudKitContainer {
    /// A value that two devices set at the same time and that lost: it is kept until it is forgotten, or until 10,000 newer
    /// ones came.
    ///
    /// Differs: Apple's container drops the value.
    public struct Conflict: Identifiable, Sendable {
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

        public struct ID: Hashable, Sendable {
            let store: UInt16
            let row: Int64
        }

        public let id: ID
        /// When it was noticed, by this device's clock.
        public let date: Date
        public let entityName: String
        public let propertyName: String
        public let winner: Winner
        /// When the losing value reached the server, by its clock; nil for a value that was never sent.
        public let losingDate: Date?
        /// The object, while it is there.
        public let objectID: NSManagedObjectID?
        let recordName: String
        let content: Content

        enum Content: Sendable {
            case attribute(StoredValue, Attribute)
            /// nil for a relationship that was cleared, or whose target is not there any more.
            case target(NSManagedObjectID?)
            /// An asset that was never fetched, or a property that the model lost.
            case unknown
        }

        /// The value as `value(forKey:)` gives it: nil where the losing side had cleared it. For a relationship the
        /// object's ID.
        public var losingValue: Any? {
            switch content {
            case .attribute(let value, let attribute): AttributeCoding.value(value, of: attribute)
            case .target(let id): id
            case .unknown: nil
            }
        }
    }
}
