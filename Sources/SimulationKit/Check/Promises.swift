// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The guarantee of `sync(timeout:)`: after it returned on one device, every other device shows the state saved there
/// when its own later call returns.
struct Promises {
    /// The saved state of one device at some time.
    struct Saved {
        fileprivate var labels: Set<String> = []
        /// Number of writes of properties with a single writer: the last one, or a later one, must be visible.
        fileprivate var writes: [String: [String: Int]] = [:]

        fileprivate mutating func add(_ other: Saved) {
            labels.formUnion(other.labels)
            for (label, keys) in other.writes { writes[label, default: [:]].merge(keys) { max($0, $1) } }
        }
    }

    /// The state that is on the server for certain.
    private(set) var kept = Saved()

    mutating func keep(_ saved: Saved) { kept.add(saved) }
}

extension Reference {
    func saved(by device: String) -> Promises.Saved {
        var saved = Promises.Saved()
        for (label, object) in objects {
            if object.maker == device { saved.labels.insert(label) }
            for (key, writes) in object.writes where writes.allSatisfy({ $0.device == device }) {
                saved.writes[label, default: [:]][key] = writes.count
            }
        }
        return saved
    }

    /// The part of it that a device does not show.
    func missing(in picture: Picture, of saved: Promises.Saved, version: Int) -> [String] {
        if isPurged { return [] }
        var found: [String] = []
        for label in saved.labels.sorted() {
            guard let object = objects[label], !object.isDeleted, version > 1 || object.entity != "Place" else { continue }
            // A merged object has another's label, and an object without its required post is withheld.
            if Self.comesAndGoes(object.entity) { continue }
            if picture.entries[label] == nil { found.append("\(label) is on the server, and did not come by sync()") }
        }
        for (label, keys) in saved.writes.sorted(by: { $0.key < $1.key }) {
            guard let object = objects[label], !object.isDeleted, object.entity != Self.mergingEntity, let entry = picture.entries[label]
            else { continue }
            for (key, count) in keys.sorted(by: { $0.key < $1.key }) where version > 1 || !Self.newer.contains(key) {
                let writes = object.writes[key] ?? []
                // References are cleared with their targets.
                if writes.contains(where: { $0.value.map { objects[$0] != nil } ?? false }) { continue }
                // A device that was away during a restore has no merge base for what it saved before: its value replaces a later one.
                let accepted = isServerRestored ? writes[...] : writes.dropFirst(count - 1)
                guard !accepted.contains(where: { $0.value == entry.values[key] }) else { continue }
                found.append("\(label).\(key) is \(entry.values[key] ?? "nil") after sync(), and a later value is on the server")
            }
        }
        return found
    }
}
