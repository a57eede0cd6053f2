// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Possible results of model extensions: merged topics, withheld comments, lists.
extension Reference {
    /// Objects of this entity with one name are merged, and have one of their labels.
    static let mergingEntity = "Topic"
    static let mergingLinks = "topics"
    /// Objects of this entity require a post.
    static let needyEntity = "Comment"

    /// A reference to an object that may be merged, or a name that several devices set.
    static func isUncertain(_ key: String, of object: Object) -> Bool { key == "topic" || object.entity == mergingEntity && key == "name" }

    /// Whether an object may disappear and return.
    static func comesAndGoes(_ entity: String?) -> Bool { entity == mergingEntity || entity == needyEntity }

    /// The visible values of an object, by key. For topics those of all: any of the merged ones may have the value.
    func shown(_ object: Object, _ entry: Picture.Entry? = nil, in picture: Picture) -> [String: Set<String>] {
        guard object.entity == Self.mergingEntity else { return entry?.values.mapValues { [$0] } ?? [:] }
        var values: [String: Set<String>] = [:]
        for topic in picture.entries.values where topic.entity == Self.mergingEntity {
            for (key, value) in topic.values { values[key, default: []].insert(value) }
        }
        return values
    }

    /// The writers of a property of an object, or of objects that may be merged with it.
    func writes(of key: String, _ object: Object) -> [Write] {
        guard object.entity == Self.mergingEntity else { return object.writes[key] ?? [] }
        // The surviving topic may have no write of its own.
        let topics = objects.values.filter { $0.entity == Self.mergingEntity }
        return topics.flatMap { $0.writes[key] ?? [] } + [Write(value: nil, old: nil, device: "")]
    }

    /// Whether an object that was not deleted exists under another label, or is withheld for a deleted post.
    func mayBeElsewhere(_ object: Object, _ label: String, _ picture: Picture, _ log: Set<String>) -> Bool {
        switch object.entity {
        case Self.mergingEntity: log.contains(label)
        case Self.needyEntity: mayBeWithheld(object)
        default: false
        }
    }

    /// Whether an object lacked its required post at some time, on some device.
    func mayBeWithheld(_ object: Object) -> Bool {
        object.writes["post"]?.contains { $0.value.map { objects[$0]?.isDeleted == true } ?? true } == true
    }

    /// If no device deleted a topic, an object with a topic keeps one, merged or not. Names were written by some
    /// device.
    func wrongTopics(_ picture: Picture) -> [String] {
        let topics = objects.values.filter { $0.entity == Self.mergingEntity }
        let names = Set(topics.flatMap { $0.writes["name"] ?? [] }.compactMap(\.value))
        var found: [String] = []
        for (label, entry) in picture.entries.sorted(by: { $0.key < $1.key }) where entry.entity == Self.mergingEntity {
            guard let name = entry.values["name"], names.contains(name) else {
                found.append("\(label) has a name that no device wrote")
                continue
            }
        }
        if topics.contains(where: \.isDeleted) { return found }
        for (label, object) in objects.sorted(by: { $0.key < $1.key }) {
            guard let entry = picture.entries[label] else { continue }
            if object.writes["topic"] != nil, entry.values["topic"] == nil { found.append("\(label) has lost its topic") }
            let written = links.filter { $0.key.first == label && $0.key.relationship == Self.mergingLinks }.values.joined()
            if !written.isEmpty, written.allSatisfy(\.isLinked), entry.links[Self.mergingLinks] == nil {
                found.append("\(label) has lost its topics")
            }
        }
        return found
    }

    /// A list has the order that a device gave it, if no other device ever ordered it.
    func wrongOrder(_ picture: Picture) -> [String] {
        var found: [String] = []
        let lists = arrangements.filter(\.value.isAlone).sorted { ($0.key.label, $0.key.key) < ($1.key.label, $1.key.key) }
        for (list, arrangement) in lists {
            guard let shown = picture.entries[list.label]?.links[list.key] else { continue }
            // Of two members that were merged, either position may count.
            let isMerged = list.key == Self.mergingLinks && arrangement.members.contains { picture.entries[$0] == nil }
            if isMerged { continue }
            let here = shown.filter { arrangement.members.contains($0) }, there = arrangement.members.filter { shown.contains($0) }
            if here != there { found.append("\(list.label).\(list.key) is \(here), and \(arrangement.device) arranged \(there)") }
        }
        return found
    }
}

extension Picture {
    /// Labels of topics, which must have unique names.
    var topicsByName: [String: [String]] {
        var labels: [String: [String]] = [:]
        for (label, entry) in entries where entry.entity == Reference.mergingEntity {
            if let name = entry.values["name"] { labels[name, default: []].append(label) }
        }
        return labels
    }
}
