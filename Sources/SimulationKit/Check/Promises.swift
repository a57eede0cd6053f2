// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// What `sync(timeout:)` promises: once it has returned on one device, what was saved there before is shown by every device
/// on which it is called after that, when it returns.
struct Promises {
    /// What one device has saved at some time.
    struct Saved {
        fileprivate var labels: Set<String> = []
        /// How often properties were written that nobody else wrote: the last of it, or something later, is to be seen.
        fileprivate var writes: [String: [String: Int]] = [:]

        fileprivate mutating func add(_ other: Saved) {
            labels.formUnion(other.labels)
            for (label, keys) in other.writes { writes[label, default: [:]].merge(keys) { max($0, $1) } }
        }
    }

    /// What is on the server for certain.
    private(set) var kept = Saved()

    mutating func keep(_ saved: Saved) { kept.add(saved) }
}

extension Reference {
    func saved(by device: String) -> Promises.Saved {
        var saved = Promises.Saved()
        for (label, object) in objects {
            if object.maker == device { saved.labels.insert(label) }
            for (key, writes) in object.writes where writes.allSatisfy({ $0.device == device }) { saved.writes[label, default: [:]][key] = writes.count }
        }
        return saved
    }

    /// What of it a device does not show.
    func missing(in picture: Picture, of saved: Promises.Saved, version: Int) -> [String] {
        if isPurged { return [] }
        var found: [String] = []
        for label in saved.labels.sorted() {
            guard let object = objects[label], !object.isDeleted, version > 1 || object.entity != "Place" else { continue }
            // What was merged has another's label, and what needs a post that was deleted is not shown.
            if Self.comesAndGoes(object.entity) { continue }
            if picture.entries[label] == nil { found.append("\(label) is on the server, and did not come by sync()") }
        }
        for (label, keys) in saved.writes.sorted(by: { $0.key < $1.key }) {
            guard let object = objects[label], !object.isDeleted, object.entity != Self.mergingEntity, let entry = picture.entries[label]
            else { continue }
            for (key, count) in keys.sorted(by: { $0.key < $1.key }) where version > 1 || !Self.newer.contains(key) {
                let writes = object.writes[key] ?? []
                // References are emptied with their targets.
                if writes.contains(where: { $0.value.map { objects[$0] != nil } ?? false }) { continue }
                guard !writes.dropFirst(count - 1).contains(where: { $0.value == entry.values[key] }) else { continue }
                found.append("\(label).\(key) is \(entry.values[key] ?? "nil") after sync(), and a later value is on the server")
            }
        }
        return found
    }
}
