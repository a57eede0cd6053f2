// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// What may have become of what goes beyond Apple's rules: topics that are merged, comments that wait for their posts, lists.
extension Reference {
    /// Objects of it that get one name become one, with one of their labels.
    static let mergingEntity = "Topic"
    static let mergingLinks = "topics"
    /// Objects of it are not there without a post.
    static let needyEntity = "Comment"

    /// A reference to what may be merged, and names that several devices give.
    static func isUncertain(_ key: String, of object: Object) -> Bool { key == "topic" || object.entity == mergingEntity && key == "name" }

    /// Whether an object may go and come back.
    static func comesAndGoes(_ entity: String?) -> Bool { entity == mergingEntity || entity == needyEntity }

    /// Values of an object that are shown, by key. Of topics those of all: which of the ones that were merged has one does not matter.
    func shown(_ object: Object, _ entry: Picture.Entry? = nil, in picture: Picture) -> [String: Set<String>] {
        guard object.entity == Self.mergingEntity else { return entry?.values.mapValues { [$0] } ?? [:] }
        var values: [String: Set<String>] = [:]
        for topic in picture.entries.values where topic.entity == Self.mergingEntity {
            for (key, value) in topic.values { values[key, default: []].insert(value) }
        }
        return values
    }

    /// Who wrote a property of an object, or of what may have been merged with it.
    func writes(of key: String, _ object: Object) -> [Write] {
        guard object.entity == Self.mergingEntity else { return object.writes[key] ?? [] }
        // Nothing may have been written into the one that stays.
        let topics = objects.values.filter { $0.entity == Self.mergingEntity }
        return topics.flatMap { $0.writes[key] ?? [] } + [Write(value: nil, old: nil, device: "")]
    }

    /// Whether an object that nobody deleted is kept under another label, or waits for a post that somebody deleted.
    func mayBeElsewhere(_ object: Object, _ label: String, _ picture: Picture, _ log: Set<String>) -> Bool {
        switch object.entity {
        case Self.mergingEntity: log.contains(label)
        case Self.needyEntity: object.writes["post"]?.contains { $0.value.map { objects[$0]?.isDeleted == true } ?? true } == true
        default: false
        }
    }

    /// Where nobody deleted a topic, what was given one has one, whatever was merged; names are somebody's.
    func wrongTopics(_ picture: Picture) -> [String] {
        let topics = objects.values.filter { $0.entity == Self.mergingEntity }
        let names = Set(topics.flatMap { $0.writes["name"] ?? [] }.compactMap(\.value))
        var found: [String] = []
        for (label, entry) in picture.entries.sorted(by: { $0.key < $1.key }) where entry.entity == Self.mergingEntity {
            guard let name = entry.values["name"], names.contains(name) else {
                found.append("\(label) has a name that nobody gave it")
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

    /// A list is in the order that a device gave it if no other one ever decided on it.
    func wrongOrder(_ picture: Picture) -> [String] {
        var found: [String] = []
        let lists = arrangements.filter(\.value.isAlone).sorted { ($0.key.label, $0.key.key) < ($1.key.label, $1.key.key) }
        for (list, arrangement) in lists {
            guard let shown = picture.entries[list.label]?.links[list.key] else { continue }
            // Of two members that became one either place may count.
            let isMerged = list.key == Self.mergingLinks && arrangement.members.contains { picture.entries[$0] == nil }
            if isMerged { continue }
            let here = shown.filter { arrangement.members.contains($0) }, there = arrangement.members.filter { shown.contains($0) }
            if here != there { found.append("\(list.label).\(list.key) is \(here), and \(arrangement.device) arranged \(there)") }
        }
        return found
    }
}

extension Picture {
    /// Labels of topics, which are to have names of their own.
    var topicsByName: [String: [String]] {
        var labels: [String: [String]] = [:]
        for (label, entry) in entries where entry.entity == Reference.mergingEntity {
            if let name = entry.values["name"] { labels[name, default: []].append(label) }
        }
        return labels
    }
}
