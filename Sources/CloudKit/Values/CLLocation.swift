// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// An angle in degrees.
public typealias CLLocationDegrees = Double
/// A distance in metres.
public typealias CLLocationDistance = Double
/// An accuracy in metres.
public typealias CLLocationAccuracy = Double
/// A speed in metres per second.
public typealias CLLocationSpeed = Double
/// A direction in degrees from north.
public typealias CLLocationDirection = Double

/// A geographic coordinate. Replaces Core Location's, which Linux does not have.
public struct CLLocationCoordinate2D: Hashable, Sendable {
    /// Degrees north of the equator, negative for south.
    public var latitude: CLLocationDegrees
    /// Degrees east of Greenwich, negative for west.
    public var longitude: CLLocationDegrees

    /// Creates the coordinate 0°, 0°.
    public init() { self.init(latitude: 0, longitude: 0) }

    /// Creates a coordinate.
    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// A measured location, as the value of a field. Replaces Core Location's class, which Linux does not have. Equal by
/// value.
public final class CLLocation: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The coordinate.
    public let coordinate: CLLocationCoordinate2D
    /// The altitude in metres.
    public let altitude: CLLocationDistance
    /// The accuracy of the coordinate in metres. Negative if it is unknown.
    public let horizontalAccuracy: CLLocationAccuracy
    /// The accuracy of the altitude in metres. Negative if the altitude is unknown.
    public let verticalAccuracy: CLLocationAccuracy
    /// The direction in degrees from north. Negative if it is unknown.
    public let course: CLLocationDirection
    /// The speed in metres per second. Negative if it is unknown.
    public let speed: CLLocationSpeed
    /// When the location was measured.
    public let timestamp: Date

    /// Creates a location from a coordinate.
    public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
            horizontalAccuracy: 0, verticalAccuracy: -1, timestamp: Date.now)
    }

    /// Creates a location with its accuracy.
    public convenience init(
        coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance, horizontalAccuracy hAccuracy: CLLocationAccuracy,
        verticalAccuracy vAccuracy: CLLocationAccuracy, timestamp: Date
    ) {
        self.init(
            coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy, verticalAccuracy: vAccuracy,
            course: -1, speed: -1, timestamp: timestamp)
    }

    /// Creates a location with its accuracy, direction and speed.
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

    /// The distance in metres on a sphere with the earth's mean radius; the error is up to half a percent.
    public func distance(from location: CLLocation) -> CLLocationDistance {
        func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
        let (a, b) = (coordinate, location.coordinate)
        let latitudes = sin(radians(b.latitude - a.latitude) / 2)
        let longitudes = sin(radians(b.longitude - a.longitude) / 2)
        let chord = latitudes * latitudes + cos(radians(a.latitude)) * cos(radians(b.latitude)) * longitudes * longitudes
        return 2 * 6_371_008.8 * asin(min(1, chord.squareRoot()))
    }

    /// Returns whether an object is an equal location.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CLLocation)?.wire == wire }
    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { coordinate.hashValue }
    /// The latitude and the longitude.
    public override var description: String { "<\(coordinate.latitude), \(coordinate.longitude)>" }
    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived location. Returns `nil` if the archive is damaged.
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

    /// Encodes the location.
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
