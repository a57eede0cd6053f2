// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The reference model: the possible results of each acknowledged save of one user, from the writers and the values
/// that they saw.
///
/// A write supersedes the values that its writer saw. Of the writes that are not superseded, all devices show one in
/// the end, and the others are in a conflict log.
struct Reference {
    struct Write {
        let value: String?
        /// The value that the writer saw.
        let old: String?
        let device: String
        var isSuperseded = false
    }

    struct Object {
        let entity: String
        let maker: String
        var isDeleted = false
        /// The devices that changed or deleted it.
        var changers: Set<String> = []
        /// Whether a deletion may have been discarded with the device's account.
        var mayBeThere = false
        /// Whether the last write may be in an archive only.
        var mayBeOlder = false
        var writes: [String: [Write]] = [:]
        var replacements: [String: [Replacement]] = [:]
    }

    /// A value that a device saw, and its replacement. `nil` for a cleared value, or a deleted object.
    struct Replacement {
        let seen: String?
        let value: String?
        let device: String
    }

    struct LinkWrite {
        let isLinked: Bool
        let device: String
    }

    /// The device that last ordered a list, and whether another one ever did.
    struct Arrangement {
        let members: [String]
        let device: String
        let isAlone: Bool
    }

    struct List: Hashable {
        let label: String
        let key: String
    }

    private(set) var objects: [String: Object] = [:]
    private(set) var links: [Edit.Pair: [LinkWrite]] = [:]
    private(set) var arrangements: [List: Arrangement] = [:]
    /// Values outside of the stores: in a discarded conflict log, or in an archive.
    var kept: Set<String> = []
    /// Another user's objects that objects of this user referred to, before a device noticed that its account had changed. They stay in the
    /// archive, and the references are cleared.
    var foreignTargets: Set<String> = []
    /// Whether the user deleted everything at some time. Then only the convergence of devices is checked.
    var isPurged = false
    /// Whether the server was restored from a backup. Objects that were deleted since may return, and an older value of one device may
    /// replace a newer one of another, which is in the log. Objects that were not deleted must exist.
    var isServerRestored = false

    /// Properties that only the later version of the model has.
    static let newer: Set<String> = ["mood", "place"]

    /// - Parameter version: The version of the device's model. A deletion includes properties that it lacks.
    mutating func take(_ edit: Edit, by device: String, version: Int) {
        for change in edit.changes {
            switch change {
            case .insert(let label, let entity): objects[label] = Object(entity: entity, maker: device)
            case .set(let label, let key, let old, let new):
                supersede(label, key, old, by: new, on: device)
                objects[label]?.writes[key, default: []].append(Write(value: new, old: old, device: device))
                objects[label]?.changers.insert(device)
            case .delete(let label, let seen):
                objects[label]?.isDeleted = true
                objects[label]?.changers.insert(device)
                for value in seen { supersede(label, value.key, value.value, by: nil, on: device) }
                if version == 1 { for key in Self.newer { supersedeAll(label, key) } }
            case .link(let pair): links[pair, default: []].append(LinkWrite(isLinked: true, device: device))
            case .unlink(let pair): links[pair, default: []].append(LinkWrite(isLinked: false, device: device))
            case .arrange(let label, let key, let members):
                let list = List(label: label, key: key)
                let isAlone = arrangements[list].map { $0.isAlone && $0.device == device } ?? true
                arrangements[list] = Arrangement(members: members, device: device, isAlone: isAlone)
            }
        }
    }

    private mutating func supersede(_ label: String, _ key: String, _ value: String?, by new: String?, on device: String) {
        objects[label]?.replacements[key, default: []].append(Replacement(seen: value, value: new, device: device))
        // A device that sees a merged object does not see its writers.
        if objects[label]?.entity == Self.mergingEntity { return supersedeMerged(key, value) }
        guard let writes = objects[label]?.writes[key] else { return }
        for index in writes.indices where writes[index].value == value { objects[label]?.writes[key]?[index].isSuperseded = true }
    }

    private mutating func supersedeMerged(_ key: String, _ value: String?) {
        for (label, object) in objects where object.entity == Self.mergingEntity {
            for (index, write) in (object.writes[key] ?? []).enumerated() where write.value == value {
                objects[label]?.writes[key]?[index].isSuperseded = true
            }
        }
    }

    private mutating func supersedeAll(_ label: String, _ key: String) {
        for index in objects[label]?.writes[key]?.indices ?? 0..<0 { objects[label]?.writes[key]?[index].isSuperseded = true }
    }

    /// Another user signed in on a device: its unsent changes are in an archive, and its unsent deletions are lost.
    mutating func giveUp() {
        for label in objects.keys {
            objects[label]?.mayBeOlder = true
            if objects[label]?.isDeleted == true { objects[label]?.mayBeThere = true }
        }
        links = [:]
        arrangements = [:]
    }

    /// The server may reject an edit. Then the rows that it deletes are restored with their links.
    mutating func allowRestoring(_ edit: Edit) {
        var deleted: Set<String> = []
        for case .delete(let label, _) in edit.changes {
            deleted.insert(label)
            objects[label]?.mayBeThere = true
            objects[label]?.mayBeOlder = true
        }
        for pair in links.keys where deleted.contains(pair.first) || deleted.contains(pair.second) { links[pair] = nil }
    }

    /// A device's changes may be lost with the share that it left.
    mutating func giveUp(_ device: String) {
        for (label, object) in objects {
            if object.maker == device { kept.insert(label) }
            guard object.changers.contains(device) else { continue }
            objects[label]?.mayBeOlder = true
            objects[label]?.mayBeThere = true
            for write in object.writes.values.joined() where write.device == device { if let value = write.value { kept.insert(value) } }
        }
        for (pair, writes) in links where writes.contains(where: { $0.device == device }) { links[pair] = nil }
    }

    /// - Parameters:
    ///   - picture: The state that all devices show in the end.
    ///   - log: The values in conflict logs.
    func violations(_ picture: Picture, log: Set<String>) -> [String] {
        if isPurged { return [] }
        var found: [String] = []
        for label in picture.entries.keys.sorted() where objects[label] == nil { found.append("\(label) was never saved") }
        for (label, object) in objects.sorted(by: { $0.key < $1.key }) {
            guard let entry = picture.entries[label] else {
                if !object.isDeleted, !kept.contains(label), !mayBeElsewhere(object, label, picture, log) {
                    found.append("\(label) was saved and is lost")
                }
                if object.isDeleted || object.entity == Self.mergingEntity {
                    found += discarded(object, label, keeping: shown(object, in: picture), log)
                }
                continue
            }
            if object.isDeleted, !object.mayBeThere, !isServerRestored { found.append("\(label) was deleted and is there") }
            found += discarded(object, label, keeping: shown(object, entry, in: picture), log)
            found += wrong(object, label, entry.values)
        }
        return isServerRestored ? found : found + wrongLinks(picture) + wrongTopics(picture) + wrongOrder(picture)
    }

    private func discarded(_ object: Object, _ label: String, keeping values: [String: Set<String>], _ log: Set<String>) -> [String] {
        var found: [String] = []
        for (key, writes) in object.writes.sorted(by: { $0.key < $1.key }) where !Self.isUncertain(key, of: object) {
            for (index, write) in writes.enumerated()
            where !write.isSuperseded && write.value.map({ values[key]?.contains($0) != true }) ?? true {
                guard let value = write.value, !log.contains(value), !kept.contains(value) else { continue }
                // A reference to a deleted object is cleared, and a value that was restored before it was sent did
                // not change.
                if objects[value]?.isDeleted == true || isPutBack(write, in: writes) { continue }
                if isRepeated(write, at: index, in: writes, replacements: object.replacements[key] ?? []) { continue }
                found.append("\(label).\(key) = \(value), written by \(write.device), is neither shown nor in a conflict log")
            }
        }
        return found
    }

    /// Whether a device restored a value before it wrote another one.
    private func isPutBack(_ write: Write, in writes: [Write]) -> Bool {
        writes.contains { $0.device == write.device && $0.old == write.value }
    }

    /// Whether another device had seen the same value and replaced it by one that the writer had not seen, so that to
    /// it the value never changed. Only targets of relationships are written more than once; the writer may have seen
    /// another write of one.
    private func isRepeated(_ write: Write, at index: Int, in writes: [Write], replacements: [Replacement]) -> Bool {
        replacements.contains { replacement in
            guard replacement.device != write.device, replacement.seen == write.value else { return false }
            guard let value = replacement.value, writes.count(where: { $0.value == value }) < 2 else { return true }
            return !writes[...index].contains { $0.device == write.device && $0.old == value }
        }
    }

    private func wrong(_ object: Object, _ label: String, _ values: [String: String]) -> [String] {
        var found: [String] = []
        for key in Set(object.writes.keys).union(values.keys).sorted() where !Self.isUncertain(key, of: object) {
            let writes = writes(of: key, object)
            let value = values[key]
            if writes.contains(where: { $0.value == value && !$0.isSuperseded }) || writes.isEmpty && value == nil { continue }
            // A reference is cleared with its target, and may be written more than once.
            let isReference = writes.contains { $0.value.map { objects[$0] != nil } ?? false }
            if isReference, value == nil, writes.contains(where: { $0.value.map { objects[$0]?.isDeleted == true } ?? false }) { continue }
            if value == nil, let target = writes.last?.value, foreignTargets.contains(target) { continue }
            let isOlder = writes.contains { $0.value == value }
            // The later write may have been discarded with an account.
            if object.mayBeOlder || isServerRestored, isOlder || value == nil { continue }
            if isReference, isOlder { continue }
            // The surviving topic's value wins against a change of the merged one, which is in the log.
            if object.entity == Self.mergingEntity, isOlder { continue }
            // The unsent edits of an object that lost its required post are in the log, and it returned with the server's values.
            if object.entity == Self.needyEntity, isOlder, mayBeWithheld(object) { continue }
            found.append("\(label).\(key) is \(value ?? "nil"), \(isOlder ? "which was replaced" : "which was never written")")
        }
        return found
    }

    private func wrongLinks(_ picture: Picture) -> [String] {
        var found: [String] = []
        for (pair, writes) in links.sorted(by: { ($0.key.first, $0.key.second) < ($1.key.first, $1.key.second) }) {
            if pair.relationship == Self.mergingLinks { continue }
            guard let first = picture.entries[pair.first], picture.entries[pair.second] != nil, let last = writes.last else { continue }
            let isLinked = first.links[pair.relationship]?.contains(pair.second) == true
            let isCertain = Set(writes.map(\.device)).count == 1 || Set(writes.map(\.isLinked)).count == 1
            if isCertain, isLinked != last.isLinked {
                found.append("\(pair.first).\(pair.relationship) \(isLinked ? "has" : "lacks") \(pair.second)")
            }
        }
        return found
    }
}
