// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A save on its way from one device to the others, as devices and server measured it. Times are milliseconds since 1970; all
/// processes read one clock.
struct Journey: Encodable, Equatable, Sendable {
    struct Span: Codable, Equatable, Sendable {
        var began: Double
        var ended: Double

        /// The span from the beginning of the first to the end of the last.
        static func + (first: Span?, second: Span) -> Span {
            guard let first else { return second }
            return Span(began: min(first.began, second.began), ended: max(first.ended, second.ended))
        }
    }

    struct Arrival: Encodable, Equatable, Sendable {
        var device: DemoCast.Device
        /// When the relay of the device carried the server's notification.
        var push: Double?
        var imported: Span?
        /// When the fetched results of the device had the change.
        var shown: Double?
    }

    var id: Int
    var from: DemoCast.Device
    var save: Span
    /// Saves that travel together, because they waited for the same export.
    var saveCount = 1
    /// Exports that failed, because the network or the server was absent.
    var failureCount = 0
    /// By the device's container.
    var export: Span?
    /// By the server's log.
    var commit: Span?
    /// Of all exports and commits of this journey, without the time between them.
    var exportMilliseconds = 0.0
    var commitMilliseconds = 0.0
    var arrivals: [Arrival] = []
}

/// A step of sync that a device reports.
struct DeviceTrace: Decodable, Equatable, Sendable {
    enum Kind: String, Decodable, Sendable { case save, setup, export, `import`, request, push, shown }

    var kind: Kind
    var began: Double
    var ended: Double
    var failure: String?
    var path: String?
    var status: Int?
    var request: String?

    var span: Journey.Span { Journey.Span(began: began, ended: ended) }
}
