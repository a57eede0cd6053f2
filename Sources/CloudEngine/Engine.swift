// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import SystemSupport

/// Decides what requests do: permissions, schema, change tags, limits, changes and tokens.
///
/// It works on values and on a partition's unit of work. It knows no HTTP, no SQL, no clock and no randomness, so
/// that a run can be repeated.
///
/// Each subject is a type of its own, with the limits and keys that it needs.
///
/// Functions throw `WireError` where the request as a whole is refused; one refused item among many is a result.
package struct Engine: Sendable {
    package let limits: Limits
    package let sealer: Sealer
    /// Environments in which record types and fields come into being by use.
    private let schemaByUse: Set<CloudEnvironment>
    /// Distinguishes these data from those of any other server. It is derived from the storage's key, which backups contain.
    package let serverIdentity: String

    package init(limits: Limits = Limits(), sealer: Sealer, schemaByUse: Set<CloudEnvironment> = [.development]) {
        self.limits = limits
        self.sealer = sealer
        self.schemaByUse = schemaByUse
        serverIdentity = Hex.text(sealer.serverIdentity)
    }

    private var rules: RecordRules { RecordRules(limits: limits, sealer: sealer, schemaByUse: schemaByUse) }

    package var assets: AssetRequests { AssetRequests(limits: limits, sealer: sealer) }
    package var changeLog: ChangeLog { ChangeLog() }
    package var feed: ChangeFeed { ChangeFeed(limits: limits, sealer: sealer) }
    package var firing: SubscriptionFiring { SubscriptionFiring(limits: limits, sealer: sealer) }
    package var indexes: IndexBuilder { IndexBuilder(limits: limits) }
    package var laterObstacles: LaterObstacles { LaterObstacles(limits: limits) }
    package var olderChanges: OlderChanges { OlderChanges(feed: feed) }
    package var personRemovals: PersonRemovals { PersonRemovals() }
    package var queries: RecordQueries { RecordQueries(limits: limits, sealer: sealer) }
    package var quotas: Quotas { Quotas(limits: limits) }
    package var records: RecordRequests { RecordRequests(rules: rules) }
    package var removalObstacles: RemovalObstacles { RemovalObstacles(limits: limits) }
    package var removedValues: RemovedValues { RemovedValues(rules: rules) }
    package var restores: ZoneRestores { ZoneRestores(rules: rules) }
    package var roles: RoleRequests { RoleRequests() }
    package var saveGroups: SaveGroups { SaveGroups(rules: rules) }
    package var scanner: RecordScanner { RecordScanner(limits: limits, sealer: sealer) }
    package var schemas: ContainerSchemas { ContainerSchemas() }
    package var sharedZones: SharedZoneList { SharedZoneList() }
    package var shares: ShareRequests { ShareRequests(limits: limits, sealer: sealer) }
    package var snapshots: Snapshots { Snapshots(limits: limits, sealer: sealer) }
    package var subscriptions: SubscriptionRequests { SubscriptionRequests(limits: limits) }
    package var tokens: FeedTokens { FeedTokens(sealer: sealer) }
    package var zones: ZoneRequests { ZoneRequests(limits: limits, sealer: sealer) }
}
