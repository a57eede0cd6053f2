// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// A point on the globe, which counts as a sphere.
struct GlobePoint {
    /// Mean radius of the earth in metres.
    private static let radius = 6_371_008.8
    /// No two points are farther apart, in metres.
    static let distanceMax = Double.pi * radius + 1

    /// The valid range of a location, for error messages.
    static let range = "latitude from -90 to 90 and a longitude from -180 to 180"

    let latitude: Double
    let longitude: Double

    /// Nil for coordinates that are none.
    init?(_ location: RecordLocation) {
        guard (-90...90).contains(location.latitude), (-180...180).contains(location.longitude) else { return nil }
        latitude = location.latitude
        longitude = location.longitude
    }

    /// Metres along the great circle.
    func distance(to other: GlobePoint) -> Double {
        let (a, b) = (latitude * .pi / 180, other.latitude * .pi / 180)
        let dLatitude = sin((b - a) / 2)
        let dLongitude = sin((other.longitude - longitude) * .pi / 360)
        let chord = dLatitude * dLatitude + cos(a) * cos(b) * dLongitude * dLongitude
        return 2 * Self.radius * asin(min(1, chord.squareRoot()))
    }

    /// Bits of both coordinates in turn, longitude first: points with equal leading bits are in one cell.
    var cell: UInt64 { Self.spread(Self.column(longitude)) << 1 | Self.spread(Self.row(latitude)) }

    /// Keys of cells that cover a circle, at most 16 of them before they are merged.
    func cover(radius: Double) -> [KeyRange] {
        // A little more than the circle, so that rounding loses nothing.
        let degrees = min(180, radius * 1.0001 / Self.radius * 180 / .pi + 1e-7)
        let south = max(-90, latitude - degrees)
        let north = min(90, latitude + degrees)
        var spans = [(-180.0, 180.0)]
        if south > -90, north < 90 {
            let ratio = sin(degrees * .pi / 180) / cos(latitude * .pi / 180)
            let half = ratio < 1 ? asin(ratio) * 180 / .pi + 1e-7 : 180
            let (west, east) = (longitude - half, longitude + half)
            if half >= 180 {
                spans = [(-180, 180)]
            } else if west < -180 {
                spans = [(-180, east), (west + 360, 180)]
            } else if east > 180 {
                spans = [(west, 180), (-180, east - 360)]
            } else {
                spans = [(west, east)]
            }
        }
        return KeyRange.merged(spans.flatMap { Self.cells(Self.row(south)...Self.row(north), Self.column($0.0)...Self.column($0.1)) })
    }

    /// Cells of the smallest size of which at most four cover a side.
    private static func cells(_ rows: ClosedRange<UInt32>, _ columns: ClosedRange<UInt32>) -> [KeyRange] {
        var shift: UInt32 = 0
        while (rows.upperBound >> shift) - (rows.lowerBound >> shift) > 3
            || (columns.upperBound >> shift) - (columns.lowerBound >> shift) > 3
        {
            shift += 1
        }
        var ranges: [KeyRange] = []
        for row in rows.lowerBound >> shift...rows.upperBound >> shift {
            for column in columns.lowerBound >> shift...columns.upperBound >> shift {
                let first = (spread(column) << 1 | spread(row)) << UInt64(2 * shift)
                let last = first | (UInt64(1) << UInt64(2 * shift) &- 1)
                ranges.append(
                    KeyRange(lower: [1] + IndexKey.bytes(of: first), upper: [1] + IndexKey.bytes(of: last) + [0]))
            }
        }
        return ranges
    }

    private static func row(_ latitude: Double) -> UInt32 { unit((latitude + 90) / 180) }

    private static func column(_ longitude: Double) -> UInt32 { unit((longitude + 180) / 360) }

    private static func unit(_ fraction: Double) -> UInt32 {
        UInt32(min(max(fraction, 0) * 0x1p32, Double(UInt32.max)))
    }

    /// Puts a zero before each bit.
    private static func spread(_ bits: UInt32) -> UInt64 {
        var wide = UInt64(bits)
        wide = (wide | wide << 16) & 0x0000_FFFF_0000_FFFF
        wide = (wide | wide << 8) & 0x00FF_00FF_00FF_00FF
        wide = (wide | wide << 4) & 0x0F0F_0F0F_0F0F_0F0F
        wide = (wide | wide << 2) & 0x3333_3333_3333_3333
        return (wide | wide << 1) & 0x5555_5555_5555_5555
    }
}
