// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation

extension Simulation {
    func planSharing(_ span: Double) {
        planShare(0, span)
        let due = extra.seconds(span / 2...span), isSentAway = extra.percent(50)
        // A restored server has participants that left since the backup.
        if extra.percent(25), !features.contains(.restores) { agenda.after(due) { isSentAway ? self.sendAway("bo") : self.leave("bo") } }
        for number in sharing.shares.indices.dropFirst() { planShare(number, span) }
        if features.contains(.permissions) {
            for _ in 0..<4 { agenda.after(extra.seconds(span / 8...span)) { self.changePermissions(allowingAll: false) } }
        }
    }

    private func planShare(_ number: Int, _ span: Double) {
        agenda.after(extra.seconds(0...span / 4)) { self.share(number) }
        for user in users.dropFirst() { agenda.after(extra.seconds(span / 8...span / 2)) { self.join(user, number) } }
    }

    private func devices(of user: String) -> SimulatedDevice? {
        devices.first { $0.user == user && $0.life != nil && !$0.disk.isDoomed && $0.store != nil }
    }

    /// Retries failures every ten seconds; faults of a device's disk are checked elsewhere.
    private func attempt(again: @escaping @Sendable () -> Void, _ body: () throws -> Bool) {
        attempt { if try ask({ try mayMiss(body) }) != true, agenda.now < sharing.until { agenda.after(10, again) } }
    }

    /// A device that has not noticed the restore of the server may name a share or a zone that is lost. A share whose response was lost with a
    /// crash exists.
    private func mayMiss(_ body: () throws -> Bool) throws -> Bool {
        do {
            return try body()
        } catch let error as CKError where mayMiss(error) {
            say("the server does not have it: \(error.localizedDescription)")
            return false
        }
    }

    private func mayMiss(_ error: CKError) -> Bool {
        if error.code == .alreadyShared { return restoreCount > 0 || faults.kinds.contains(.crashes) }
        return restoreCount > 0 && [.unknownItem, .zoneNotFound, .userDeletedZone].contains(error.code)
    }

    // MARK: The owner

    func share(_ number: Int) {
        attempt(again: { self.share(number) }) {
            guard !cloud.isStopped, let device = devices(of: "mia"), let container = device.cloudContainer, let store = device.store else {
                return false
            }
            let context = container.newBackgroundContext()
            let isSingle = sharing.shares.count == 1
            let posts = try context.performAndWait {
                try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Post"))
                    .filter { isSingle || Sharing.group(of: Picture.label($0)) == number }.sorted { Picture.label($0) < Picture.label($1) }
            }
            guard let post = posts.first else { return false }
            say("\(device.name) shares \(context.performAndWait { Picture.label(post) })")
            let objects = Box([post])
            let isOpen = features.contains(.permissions)
            let share = Box(
                try executor.run {
                    let (_, share, _) = try await container.share(objects.value, to: nil)
                    // With permissions, the reader joins by the link.
                    if isOpen { share.publicPermission = .readOnly }
                    let people = (isOpen ? ["bo"] : ["bo", "ada"]).map { CKUserIdentity.LookupInfo(emailAddress: "\($0)@example.org") }
                    for person in try await container.fetchParticipants(matching: people, into: store) {
                        person.permission = person.userIdentity.nameComponents?.givenName == "bo" ? .readWrite : .readOnly
                        share.addParticipant(person)
                    }
                    return try await container.persistUpdatedShare(share, in: store)
                }
            ).value
            sharing.shares[number].url = share.url
            sharing.shares[number].zone = share.recordID.zoneID.zoneName
            return true
        }
    }

    /// The owner removes a participant from a share.
    private func sendAway(_ user: String) {
        attempt(again: {}) {
            guard !cloud.isStopped, let device = devices(of: "mia"), let container = device.cloudContainer, let store = device.store,
                sharing.hasJoined(user),
                let share = try container.fetchShares(in: store).first(where: { $0.participant(named: user) != nil }),
                let participant = share.participant(named: user)
            else { return true }
            say("\(device.name) takes \(user) out of the share")
            try part(from: user)
            share.removeParticipant(participant)
            if try !persist(share, container, store) { say("another client changed the share") }
            return true
        }
    }

    private func part(from user: String) throws {
        sharing.leavers.insert(user)
        for device in devices where device.user == user { sharing.leftLogs.formUnion(try device.conflictLog().values) }
    }

    /// - Returns: Whether the share was saved. `false` if its change tag is stale.
    private func persist(_ share: CKShare, _ container: NSPersistentCloudKitContainer, _ store: NSPersistentStore) throws -> Bool {
        let changed = Box(share)
        do {
            _ = try executor.run { Box(try await container.persistUpdatedShare(changed.value, in: store)) }
            return true
        } catch let error as CKError where error.code == .serverRecordChanged {
            return false
        }
    }

    // MARK: Guests

    func join(_ user: String, _ number: Int) {
        attempt(again: { self.join(user, number) }) {
            guard devices.contains(where: { $0.user == user }), !sharing.shares[number].joined.contains(user),
                !sharing.leavers.contains(user)
            else { return true }
            guard !cloud.isStopped, let url = sharing.shares[number].url, let device = devices(of: user),
                let container = device.cloudContainer,
                let store = device.store
            else { return false }
            say("\(device.name) joins the share")
            let way = AccountTransport(base: try base(device), simulation: executor)
            try executor.run {
                let account = CKContainer(
                    identifier: ContainerApp.identifier,
                    connection: OwnConnection(Connection(environment: .development, transport: way)))
                let metadata = try await account.shareMetadata(for: url)
                try await container.acceptShareInvitations(from: [metadata], into: store)
            }
            sharing.shares[number].joined.insert(user)
            return true
        }
    }

    private func leave(_ user: String) {
        guard let device = devices(of: user), let container = device.cloudContainer, let store = device.store, sharing.hasJoined(user),
            let zone = try? container.fetchShares(in: store).first?.recordID.zoneID
        else { return }
        // Leaving is a request of the user, which a pause of sync does not hold back.
        resume(device)
        say("\(device.name) leaves the share")
        attempt { try part(from: user) }
        Task(executorPreference: executor) {
            do {
                try await container.purgeObjectsAndRecordsInZone(with: zone, in: store)
                self.say("\(device.name) has left")
            } catch {
                self.say("\(device.name) did not leave: \((error as? CKError)?.localizedDescription ?? "\(error)")")
            }
        }
    }

    // MARK: Permissions

    /// The owner raises or lowers the permissions of participants of each share, by invitation and by the link.
    ///
    /// - Parameter allowingAll: Whether all participants get write access.
    private func changePermissions(allowingAll: Bool) {
        let again: @Sendable () -> Void = { if allowingAll { self.changePermissions(allowingAll: true) } }
        attempt(again: again) {
            guard !cloud.isStopped, let device = devices(of: "mia"), let container = device.cloudContainer, let store = device.store else {
                return !allowingAll
            }
            let shares = try container.fetchShares(in: store).sorted { $0.recordID.zoneID.zoneName < $1.recordID.zoneID.zoneName }
            if allowingAll, shares.count < sharing.zones().count { return false }
            for share in shares {
                share.publicPermission = allowingAll || extra.percent(50) ? .readWrite : .readOnly
                let invited = share.participant(named: "bo")
                invited?.permission = allowingAll || extra.percent(50) ? .readWrite : .readOnly
                say("\(device.name): the link may \(share.publicPermission.rawValue), bo may \(invited?.permission.rawValue ?? 0)")
                if try !persist(share, container, store), allowingAll { return false }
            }
            return true
        }
    }

    /// Invites the users that have no invitation yet. In some runs a participant with read-only access gets write
    /// access in the end, and its edits are sent.
    func finishSharing() throws {
        if features.contains(.permissions) { return agenda.after(600) { self.changePermissions(allowingAll: true) } }
        if features.contains(.rejections) { return agenda.after(900) { self.discardRejectedChanges() } }
        guard extra.percent(50), !sharing.refused.isEmpty else { return }
        agenda.after(600) { self.promote() }
    }

    private func promote() {
        attempt(again: { self.promote() }) {
            guard let device = devices(of: "mia"), let container = device.cloudContainer, let store = device.store else { return false }
            let shares = try container.fetchShares(in: store)
            guard shares.count >= sharing.zones().count, !shares.isEmpty else { return false }
            say("ada may write now")
            for share in shares {
                share.participant(named: "ada")?.permission = .readWrite
                guard try persist(share, container, store) else { return false }
            }
            for (edit, name, version) in sharing.refused { references["mia"]?.take(edit, by: name, version: version) }
            sharing.refused = []
            return true
        }
    }

    /// Participants with read-only access discard the rejected changes; rejected deletions have been reverted
    /// automatically.
    private func discardRejectedChanges() {
        for device in devices where device.role == .reader { attempt { try discardRejectedChanges(on: device) } }
    }

    private func discardRejectedChanges(on device: SimulatedDevice) throws {
        guard let container = device.cloudContainer else { return }
        let rejected = try container.rejectedChanges()
        for change in rejected where change.kind == .deletion { fail("\(device.name): a rejected deletion has not come back") }
        say("\(device.name) discards \(rejected.count) rejected changes")
        let objectIDs = Array(Set(rejected.map(\.objectID)))
        Task(executorPreference: executor) {
            do {
                try await container.discardRejectedChanges(of: objectIDs)
                self.sharing.refused.removeAll { $0.device == device.name }
            } catch {
                self.say("\(device.name) did not discard: \((error as? CKError)?.localizedDescription ?? "\(error)")")
                guard self.agenda.now < self.sharing.until else {
                    return self.fail("\(device.name) could not discard its rejected changes: \(error)")
                }
                self.agenda.after(10) { self.attempt { try self.discardRejectedChanges(on: device) } }
            }
        }
    }

    // MARK: The end

    /// Whether a guest has created objects outside of any share: it deleted or unlinked the objects that connected them
    /// before they were sent, or the restored server lost their share.
    func hasStrays(_ device: SimulatedDevice) throws -> Bool {
        guard device.role == .guest, sharing.dividers.contains(device.name) || restoreCount > 0 else { return false }
        return try device.picture { !self.isShared($0, on: device) }?.entries.isEmpty == false
    }

    private func isShared(_ object: NSManagedObject, on device: SimulatedDevice, in zones: Set<String>? = nil) -> Bool {
        guard let zone = device.cloudContainer?.recordID(for: object.objectID)?.zoneID.zoneName else { return false }
        return (zones ?? sharing.zones()).contains(zone)
    }

    /// Compares the guests' states with the owner's state of the shares that they have accepted.
    func compareShared(_ all: [SimulatedDevice], with owner: SimulatedDevice) throws {
        for device in all where device.role == .guest || device.role == .reader {
            let zones = sharing.zones(joinedBy: device.user)
            guard let shared = try owner.picture(where: { self.isShared($0, on: owner, in: zones) }) else { return }
            let hasStrays = try hasStrays(device)
            if hasStrays, let strays = try device.picture(where: { !self.isShared($0, on: device) }) {
                for (label, entry) in strays.entries { references[circle(of: device.user)]?.kept.formUnion([label] + entry.values.values) }
            }
            guard let picture = try device.picture(where: { !hasStrays || self.isShared($0, on: device) }) else { continue }
            guard sharing.hasJoined(device.user) else {
                if !picture.entries.isEmpty { fail("\(device.name) shows \(picture.entries.count) objects of a share that it is not in") }
                continue
            }
            var changed: [String: Set<String>] = [:]
            for case .set(let label, let key, _, _) in sharing.refused.flatMap(\.edit.changes) { changed[label, default: []].insert(key) }
            try compare(device, picture.without(changed), with: shared.without(changed), of: owner)
        }
    }
}

extension CKShare {
    fileprivate func participant(named givenName: String) -> Participant? {
        participants.first { $0.userIdentity.nameComponents?.givenName == givenName }
    }
}
