// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

public typealias CLLocationDegrees = Double
public typealias CLLocationDistance = Double
public typealias CLLocationAccuracy = Double
public typealias CLLocationSpeed = Double
public typealias CLLocationDirection = Double

/// A place on the earth. Stands in for Core Location's, which Linux does not have.
public struct CLLocationCoordinate2D: Hashable, Sendable {
    public var latitude: CLLocationDegrees
    public var longitude: CLLocationDegrees

    public init() { self.init(latitude: 0, longitude: 0) }

    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// A measured place, as a field holds it. Stands in for Core Location's class, which Linux does not have; equal by value.
public final class CLLocation: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let coordinate: CLLocationCoordinate2D
    /// Metres.
    public let altitude: CLLocationDistance
    /// Metres; negative if it is not known.
    public let horizontalAccuracy: CLLocationAccuracy
    /// Metres; negative if the altitude is not known.
    public let verticalAccuracy: CLLocationAccuracy
    /// Degrees from north; negative if it is not known.
    public let course: CLLocationDirection
    /// Metres a second; negative if it is not known.
    public let speed: CLLocationSpeed
    public let timestamp: Date

    public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
            horizontalAccuracy: 0, verticalAccuracy: -1, timestamp: Date.now)
    }

    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy, verticalAccuracy: vAccuracy,
            course: -1, speed: -1, timestamp: timestamp)
    }

    public init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, course: CLLocationDirection, speed: CLLocationSpeed,
        timestamp: Date
    ) {
        self.coordinate = coordinate
        self.altitude = altitude
        horizontalAccuracy = hAccuracy
        verticalAccuracy = vAccuracy
        self.course = course
        self.speed = speed
        self.timestamp = timestamp
    }

    convenience init(_ location: RecordLocation) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: location.latitude, longitude: location.longitude),
            altitude: location.altitude ?? 0, horizontalAccuracy: location.horizontalAccuracy ?? 0,
            verticalAccuracy: location.verticalAccuracy ?? -1, course: location.course ?? -1,
            speed: location.speed ?? -1,
            timestamp: Date(timeIntervalSince1970: Double(location.timestamp ?? 0) / 1000))
    }

    var wire: RecordLocation {
        var location = RecordLocation(latitude: coordinate.latitude, longitude: coordinate.longitude)
        location.altitude = altitude
        location.horizontalAccuracy = horizontalAccuracy
        location.verticalAccuracy = verticalAccuracy
        location.course = course
        location.speed = speed
        location.timestamp = Int64(exactly: (timestamp.timeIntervalSince1970 * 1000).rounded())
        return location
    }

    /// Metres along the surface of a sphere of the earth's mean radius; up to half a percent off.
    public func distance(from location: CLLocation) -> CLLocationDistance {
        func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
        let (a, b) = (coordinate, location.coordinate)
        let latitudes = sin(radians(b.latitude - a.latitude) / 2)
        let longitudes = sin(radians(b.longitude - a.longitude) / 2)
        let chord = latitudes * latitudes + cos(radians(a.latitude)) * cos(radians(b.latitude)) * longitudes * longitudes
        return 2 * 6_371_008.8 * asin(min(1, chord.squareRoot()))
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CLLocation)?.wire == wire }
    public override var hash: Int { coordinate.hashValue }
    public override var description: String { "<\(coordinate.latitude), \(coordinate.longitude)>" }
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        self.init(
            coordinate: CLLocationCoordinate2D(
                latitude: coder.decodeDouble(forKey: "latitude"), longitude: coder.decodeDouble(forKey: "longitude")),
            altitude: coder.decodeDouble(forKey: "altitude"),
            horizontalAccuracy: coder.decodeDouble(forKey: "horizontalAccuracy"),
            verticalAccuracy: coder.decodeDouble(forKey: "verticalAccuracy"),
            course: coder.decodeDouble(forKey: "course"), speed: coder.decodeDouble(forKey: "speed"),
            timestamp: Date(timeIntervalSince1970: coder.decodeDouble(forKey: "timestamp")))
    }

    public func encode(with coder: NSCoder) {
        coder.encode(coordinate.latitude, forKey: "latitude")
        coder.encode(coordinate.longitude, forKey: "longitude")
        coder.encode(altitude, forKey: "altitude")
        coder.encode(horizontalAccuracy, forKey: "horizontalAccuracy")
        coder.encode(verticalAccuracy, forKey: "verticalAccuracy")
        coder.encode(course, forKey: "course")
        coder.encode(speed, forKey: "speed")
        coder.encode(timestamp.timeIntervalSince1970, forKey: "timestamp")
    }
}
