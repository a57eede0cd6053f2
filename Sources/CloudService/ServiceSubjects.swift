// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine

/// The subjects of the service, each with the pieces that it uses. A subject is made where it is used: it costs a few references.
extension CloudService {
    package var audit: AuditTrail { AuditTrail(core: core, refusals: refusals, log: auditLog) }
    package var budgets: SenderBudgets { SenderBudgets(core: core, budgets: requestBudgets) }
    package var headRefusals: HeadRefusals { HeadRefusals(core: core, admission: admission, errors: errors) }

    package var sessions: WebSessions { WebSessions(core: core, uses: uses, audit: audit) }
    package var signInFlows: SignInFlows { SignInFlows(core: core) }
    package var signIns: SignIns {
        SignIns(core: core, audit: audit, sessions: sessions, throttle: throttle, passwordChecks: passwordChecks)
    }
    package var secondFactors: SecondFactors { SecondFactors(core: core, audit: audit, sessions: sessions, throttle: throttle) }
    package var providerSignIns: ProviderSignIns {
        ProviderSignIns(
            core: core, identitySignIn: identitySignIn, audit: audit, signIns: signIns, flows: signInFlows, throttle: throttle)
    }
    package var consents: Consents { Consents(core: core, uses: uses, audit: audit, sessions: sessions, throttle: throttle) }
    package var requestCredentials: RequestCredentials {
        RequestCredentials(core: core, uses: uses, sessions: sessions, flows: signInFlows, errors: errors)
    }
    package var revocations: Revocations { Revocations(core: core) }

    package var announcements: Announcements { Announcements(core: core) }
    package var deletedZones: DeletedZones { DeletedZones(core: core) }
    package var zoneContents: ZoneContents { ZoneContents(core: core) }
    package var zoneHistory: ZoneHistory { ZoneHistory(core: core, announcements: announcements) }
    package var snapshots: SnapshotService { SnapshotService(core: core, snapshots: zoneSnapshots, revocations: revocations) }
    package var directory: AccountDirectory { AccountDirectory(core: core) }
    package var roles: CustomRoles { CustomRoles(core: core) }
    package var userRemoval: UserRemoval {
        UserRemoval(core: core, announcements: announcements, revocations: revocations, snapshots: snapshots)
    }

    var restrictions: Restrictions { Restrictions(core: core) }
    var sharedZones: SharedZones { SharedZones(core: core, restrictions: restrictions) }
    var shareLinks: ShareLinks { ShareLinks(core: core, restrictions: restrictions, announcements: announcements) }
    var units: UnitsOfWork { UnitsOfWork(core: core, announcements: announcements, deletedZones: deletedZones) }
    var zones: ZoneService { ZoneService(core: core, units: units, sharedZones: sharedZones, snapshots: snapshots) }
    var changeFeeds: ChangeFeeds { ChangeFeeds(core: core, units: units, sharedZones: sharedZones, snapshots: snapshots) }
    var records: RecordService {
        RecordService(
            core: core, units: units, sharedZones: sharedZones, invitations: Invitations(core: core),
            saveGroups: SaveGroupService(core: core, units: units), indexBuilding: IndexBuilding(core: core, builds: indexBuilds))
    }
    var subscriptions: SubscriptionService { SubscriptionService(core: core, units: units) }
    var assets: AssetService { AssetService(core: core, units: units, sharedZones: sharedZones, budgets: uploadBudgets) }
    var assetTransfers: AssetTransfers {
        AssetTransfers(
            core: core, assets: assetStorage, reservations: reservations,
            resumed: ResumedUploads(core: core, assets: assetStorage, reservations: reservations), errors: errors)
    }
    var couriers: Couriers { Couriers(core: core, revocations: revocations) }
    var users: UserService { UserService(core: core) }

    var operations: OperationTable { OperationTable(service: self) }
    var databaseRoute: DatabaseRoute {
        DatabaseRoute(
            core: core, containerRules: containerRules, requestCredentials: requestCredentials, signInFlows: signInFlows,
            restrictions: restrictions, requestBudgets: requestBudgets, memory: memory, bodies: bodies, admission: admission,
            headRefusals: headRefusals, errors: errors, operations: operations)
    }
    var deviceRoute: DeviceRoute {
        DeviceRoute(
            core: core, containerRules: containerRules, requestCredentials: requestCredentials, signInFlows: signInFlows,
            sessions: sessions, revocations: revocations, restrictions: restrictions, couriers: couriers, budgets: budgets,
            memory: memory, bodies: bodies, streams: streams, accountStreams: accountStreams)
    }
    var bodies: RequestBodies { RequestBodies(limits: core.engine.limits, memory: memory) }
    var errors: ErrorResponses { ErrorResponses(profile: core.profile) }
}
