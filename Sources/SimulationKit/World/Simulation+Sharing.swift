// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import CoreData
import Foundation

/// Where sharing stands: one share of the owner's, to which one guest may write, and another may not.
struct Sharing: Sendable {
    /// Where invitations lead to; nil before somebody shared something.
    var url: URL?
    var zone: String?
    /// Until when what did not work is tried again.
    var until = Double.infinity
    var joined: Set<String> = []
    /// Who left the share, or was sent away: what they had not sent is theirs alone.
    var leavers: Set<String> = []
    /// What their conflict logs held then: what a lost reference led to goes with the share.
    var leftLogs: Set<String> = []
    /// Devices on which something was deleted, or taken apart.
    var dividers: Set<String> = []
    /// What somebody saved who may only read.
    var refused: [(edit: Edit, device: String, version: Int)] = []
}

extension Simulation {
    func planSharing(_ span: Double) {
        agenda.after(extra.seconds(0...span / 4)) { self.share() }
        for user in users.dropFirst() { agenda.after(extra.seconds(span / 8...span / 2)) { self.join(user) } }
        let due = extra.seconds(span / 2...span), isSentAway = extra.percent(50)
        if extra.percent(25) { agenda.after(due) { isSentAway ? self.sendAway("bo") : self.leave("bo") } }
    }

    private func devices(of user: String) -> SimulatedDevice? {
        devices.first { $0.user == user && $0.life != nil && deaths[$0.name] == nil && $0.store != nil }
    }

    /// What goes wrong is tried again; what the disk of a device does to it is seen elsewhere.
    private func attempt(again: @escaping @Sendable () -> Void, _ body: () throws -> Bool) {
        attempt { if try ask(body) != true, agenda.now < sharing.until { agenda.after(10, again) } }
    }

    // MARK: The owner

    private func share() {
        attempt(again: { self.share() }) {
            guard !cloud.isStopped, let device = devices(of: "mia"), let life = device.life, let store = device.store else { return false }
            let context = life.container.newBackgroundContext()
            let posts = try context.performAndWait {
                try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Post")).sorted { Picture.label($0) < Picture.label($1) }
            }
            guard let post = posts.first else { return false }
            say("\(device.name) shares \(context.performAndWait { Picture.label(post) })")
            let objects = Box([post]), container = life.container
            let share = Box(
                try executor.run {
                    let (_, share, _) = try await container.share(objects.value, to: nil)
                    let people = ["bo", "ada"].map { CKUserIdentity.LookupInfo(emailAddress: "\($0)@example.org") }
                    for person in try await container.fetchParticipants(matching: people, into: store) {
                        person.permission = person.userIdentity.nameComponents?.givenName == "bo" ? .readWrite : .readOnly
                        share.addParticipant(person)
                    }
                    return try await container.persistUpdatedShare(share, in: store)
                }
            ).value
            sharing.url = share.url
            sharing.zone = share.recordID.zoneID.zoneName
            return true
        }
    }

    /// The owner takes somebody out of the share.
    private func sendAway(_ user: String) {
        attempt(again: {}) {
            guard !cloud.isStopped, let device = devices(of: "mia"), let life = device.life, let store = device.store, sharing.joined.contains(user),
                let share = try life.container.fetchShares(in: store).first,
                let participant = share.participants.first(where: { $0.userIdentity.nameComponents?.givenName == user })
            else { return true }
            say("\(device.name) takes \(user) out of the share")
            try part(from: user)
            share.removeParticipant(participant)
            let (container, changed) = (life.container, Box(share))
            do {
                _ = try executor.run { Box(try await container.persistUpdatedShare(changed.value, in: store)) }
            } catch let error as CKError where error.code == .serverRecordChanged {
                say("somebody else changed the share")
            }
            return true
        }
    }

    private func part(from user: String) throws {
        sharing.leavers.insert(user)
        for device in devices where device.user == user { sharing.leftLogs.formUnion(try device.conflictLog().values) }
    }

    // MARK: Guests

    private func join(_ user: String) {
        attempt(again: { self.join(user) }) {
            guard devices.contains(where: { $0.user == user }), !sharing.joined.contains(user) else { return true }
            guard !cloud.isStopped, let url = sharing.url, let device = devices(of: user), let life = device.life, let store = device.store else { return false }
            say("\(device.name) joins the share")
            let way = AccountTransport(base: try base(device), simulation: executor), container = life.container
            try executor.run {
                let account = CKContainer(
                    identifier: SimulatedDevice.containerIdentifier, connection: OwnConnection(Connection(environment: .development, transport: way)))
                let metadata = try await account.shareMetadata(for: url)
                try await container.acceptShareInvitations(from: [metadata], into: store)
            }
            sharing.joined.insert(user)
            return true
        }
    }

    private func leave(_ user: String) {
        guard let device = devices(of: user), let life = device.life, let store = device.store, sharing.joined.contains(user),
            let zone = try? life.container.fetchShares(in: store).first?.recordID.zoneID
        else { return }
        // Leaving asks the server for something, and is not what pausing keeps a mirror from.
        resume(device)
        say("\(device.name) leaves the share")
        attempt { try part(from: user) }
        let container = life.container
        Task(executorPreference: executor) {
            do {
                try await container.purgeObjectsAndRecordsInZone(with: zone, in: store)
                self.say("\(device.name) has left")
            } catch {
                self.say("\(device.name) did not leave: \((error as? CKError)?.localizedDescription ?? "\(error)")")
            }
        }
    }

    // MARK: The end

    /// Whoever waits for an invitation gets it; sometimes who could only read may write in the end, and then what they wrote
    /// is sent.
    func finishSharing() throws {
        guard extra.percent(50), !sharing.refused.isEmpty else { return }
        agenda.after(600) { self.promote() }
    }

    private func promote() {
        attempt(again: { self.promote() }) {
            guard let device = devices(of: "mia"), let life = device.life, let store = device.store,
                let share = try life.container.fetchShares(in: store).first
            else { return false }
            say("ada may write now")
            for participant in share.participants where participant.userIdentity.nameComponents?.givenName == "ada" { participant.permission = .readWrite }
            let (container, changed) = (life.container, Box(share))
            do {
                _ = try executor.run { Box(try await container.persistUpdatedShare(changed.value, in: store)) }
            } catch let error as CKError where error.code == .serverRecordChanged {
                return false
            }
            for (edit, name, version) in sharing.refused { references["mia"]?.take(edit, by: name, version: version) }
            sharing.refused = []
            return true
        }
    }

    /// Whether a guest has made something of no share: they deleted what it was connected with, or took it apart, before anybody
    /// looked.
    func hasStrays(_ device: SimulatedDevice) throws -> Bool {
        guard device.role == .guest, sharing.dividers.contains(device.name) else { return false }
        return try device.picture { !self.isShared($0, on: device) }?.entries.isEmpty == false
    }

    private func isShared(_ object: NSManagedObject, on device: SimulatedDevice) -> Bool {
        guard let zone = sharing.zone else { return false }
        return device.life?.container.recordID(for: object.objectID)?.zoneID.zoneName == zone
    }

    /// Guests show what is in the share's zone, as the owner does.
    func compareShared(_ all: [SimulatedDevice], with owner: SimulatedDevice) throws {
        guard let shared = try owner.picture(where: { self.isShared($0, on: owner) }) else { return }
        for device in all where device.role == .guest || device.role == .reader {
            let hasStrays = try hasStrays(device)
            if hasStrays, let strays = try device.picture(where: { !self.isShared($0, on: device) }) {
                for (label, entry) in strays.entries { references[circle(of: device.user)]?.kept.formUnion([label] + entry.values.values) }
            }
            guard let picture = try device.picture(where: { !hasStrays || self.isShared($0, on: device) }) else { continue }
            guard sharing.joined.contains(device.user) else {
                if !picture.entries.isEmpty { fail("\(device.name) shows \(picture.entries.count) objects of a share that it is not in") }
                continue
            }
            var changed: [String: Set<String>] = [:]
            for case .set(let label, let key, _, _) in sharing.refused.flatMap(\.edit.changes) { changed[label, default: []].insert(key) }
            try compare(device, picture.without(changed), with: shared.without(changed), of: owner)
        }
    }
}
