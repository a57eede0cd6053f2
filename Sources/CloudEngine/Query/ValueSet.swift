// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Values that are found by equality in constant time. Texts are folded to lower case once, when the set is made.
///
/// Invariant: `contains` is true if and only if ``ValueOrder/areEqual(_:_:inZone:)`` is true for one of the values.
struct ValueSet {
    private struct ReferenceKey: Hashable {
        var recordName: String
        /// Nil for a reference without a zone, in a set that is not of one record.
        var zoneName: String?
    }

    private struct Coordinates: Hashable {
        var latitude: Double
        var longitude: Double
    }

    private var texts: Set<[UInt8]> = []
    private var integers: Set<Int64> = []
    private var timestamps: Set<Int64> = []
    private var doubles: Set<Double> = []
    private var references: Set<ReferenceKey> = []
    private var locations: Set<Coordinates> = []

    /// - Parameter zoneName: The zone of references that name none; nil if it depends on the record they are compared with.
    init(_ values: [FieldValue], inZone zoneName: String? = nil) {
        for value in values {
            switch value {
            case .string(let text): texts.insert(Self.folded(text))
            case .int64(let number): integers.insert(number)
            case .timestamp(let number): timestamps.insert(number)
            case .double(let number): doubles.insert(number)
            case .reference(let reference):
                references.insert(ReferenceKey(recordName: reference.recordName, zoneName: reference.zoneID?.zoneName ?? zoneName))
            case .location(let location): locations.insert(Coordinates(latitude: location.latitude, longitude: location.longitude))
            // Without an order, so equal to nothing.
            case .bytes, .asset, .list: break
            }
        }
    }

    static func folded(_ text: String) -> [UInt8] { Array(text.lowercased().utf8) }

    /// - Parameter zoneName: The zone of the record that `value` is of, or is compared with.
    func contains(_ value: FieldValue, inZone zoneName: String) -> Bool {
        switch value {
        case .string(let text): return !texts.isEmpty && texts.contains(Self.folded(text))
        case .int64(let number):
            if integers.contains(number) { return true }
            return !doubles.isEmpty && doubles.contains(Double(number)) && Int64(clamping: Double(number)) == number
        case .timestamp(let number): return timestamps.contains(number)
        case .double(let number):
            if doubles.contains(number) { return true }
            let integer = Int64(clamping: number)
            return !integers.isEmpty && Double(integer) == number && integers.contains(integer)
        case .reference(let reference):
            let referenceZone = reference.zoneID?.zoneName ?? zoneName
            if references.contains(ReferenceKey(recordName: reference.recordName, zoneName: referenceZone)) { return true }
            return referenceZone == zoneName && references.contains(ReferenceKey(recordName: reference.recordName))
        case .location(let location):
            return locations.contains(Coordinates(latitude: location.latitude, longitude: location.longitude))
        case .bytes, .asset, .list: return false
        }
    }

    /// The same for a text that was folded before.
    func contains(foldedText text: [UInt8]) -> Bool { texts.contains(text) }
}
