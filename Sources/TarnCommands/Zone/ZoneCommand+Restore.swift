// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudService
import CloudWire
import Foundation
import SystemSupport

extension ZoneCommand {
    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Restore the records of a zone to a point in time.",
            discussion: Help.discussion(
                """
                It needs a server that runs with --limit historyDays=DAYS, and works while it runs. Devices follow by their \
                next fetch, as after any change. Shares stay as they are; a zone that was deleted comes back.
                """,
                examples: "tarn zone restore Notes --at 2030-01-02T03:04:05Z --user mia --container iCloud.org.example.notes"))

        @Argument(help: "Name of the zone.")
        var zone: String
        @Option(help: ArgumentHelp("When, such as 2030-01-02T03:04:05Z.", valueName: "time"))
        var at: Moment
        @OptionGroup var place: ZoneOwnerOptions
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (zoneID, time) = (ZoneID(zoneName: zone), at.milliseconds)
            let restoration = try await options.withStore(
                mustExist: true, name: place.user, audited: CommandAudit("zone.restore", place.auditSubject)
            ) { store in
                let call = try await place.call(in: store)
                let engine = Engine(sealer: store.sealer)
                do {
                    return try await store.write(call.partition) { try engine.restores.restore(zoneID, to: time, in: $0, call).response }
                } catch let error as WireError {
                    throw await place.zoneError(zone, error, in: store)
                }
            }
            output.print(
                "\(zone): \(CountText.text(restoration.saved, "record")) restored, \(restoration.deleted) removed",
                ["zone": JSONText.string(zone), "restored": "\(restoration.saved)", "removed": "\(restoration.deleted)"])
        }
    }
}

/// A point in time in ISO 8601.
struct Moment: ExpressibleByArgument, Equatable {
    /// Since 1970 UTC.
    var milliseconds: Int64

    init?(argument: String) {
        guard
            let date = (try? Date(argument, strategy: .iso8601))
                ?? (try? Date(argument, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        else { return nil }
        milliseconds = Int64((date.timeIntervalSince1970 * 1000).rounded())
    }
}
