// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore

extension FeatureWorld {
    private mutating func insert(_ entity: String, into device: inout Replica, _ values: [String: StoredValue]) {
        lastNumber += 1
        inserted.insert(lastNumber)
        var values = values
        values["number"] = .int(lastNumber)
        if let folder = values["folder"]?.reference, let number = device.number(of: folder) {
            folders[lastNumber, default: []].insert(number)
        }
        device.insert(entity, values)
    }

    mutating func edit(_ device: inout Replica) {
        let isRequired = features.contains(.requirements)
        let text = StoredValue.string("t\(Int.random(in: 0..<1000, using: &random))")
        let allFolders = device.keys(of: "Folder"), documents = device.keys(of: "Document")
        let folder = allFolders.randomElement(using: &random), document = documents.randomElement(using: &random)
        let cover = device.keys(of: "Cover").randomElement(using: &random), label = device.keys(of: "Label").randomElement(using: &random)
        switch Int.random(in: 0..<16, using: &random) {
        case 0: insert("Folder", into: &device, ["name": text])
        case 1, 2:
            if isRequired, folder == nil { return insert("Folder", into: &device, ["name": text]) }
            insert("Document", into: &device, ["title": text, "folder": folder.map { .reference($0) } ?? .null])
        case 3: insert("Cover", into: &device, ["text": text, "document": document.map { .reference($0) } ?? .null])
        case 4: editLabel(label, in: &device)
        case 5: if let document { device.set("title", of: document, to: text) }
        case 6: if let document { device.set("text", of: document, to: random.chance(30) ? .null : text) }
        case 7, 8:
            guard let document else { return }
            guard let folder, isRequired || random.chance(80) else {
                if !isRequired { device.set("folder", of: document, to: .null) }
                return
            }
            if let number = device.number(of: document), let other = device.number(of: folder) {
                folders[number, default: []].insert(other)
            }
            device.set("folder", of: document, to: .reference(folder))
        case 9, 10:
            // From either side, and also to no object.
            guard let document, let cover else { return }
            if random.chance(50) {
                device.set("cover", of: document, to: random.chance(80) ? .reference(cover) : .null)
            } else {
                device.set("document", of: cover, to: random.chance(80) ? .reference(document) : .null)
            }
        case 11: if let document, let label { device.setLinked(random.chance(65), document, "labels", label) }
        case 12, 13: reorder(folder, document, in: &device)
        case 14: if features.contains(.relocation), let root = random.chance(70) ? folder : document { share(root, in: &device) }
        default: if deletes, let key = device.liveKeys.randomElement(using: &random) { delete(key, in: &device) }
        }
    }

    private mutating func editLabel(_ label: RowKey?, in device: inout Replica) {
        let name = StoredValue.string("l\(Int.random(in: 0..<4, using: &random))")
        let isFree = !features.contains(.uniqueness) || !device.keys(of: "Label").contains { device.value("name", of: $0) == name }
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1: if isFree { insert("Label", into: &device, ["name": name]) }
        case 2: if isFree, let label { device.set("name", of: label, to: name) }
        default: if let label { device.set("color", of: label, to: .string("c\(lastNumber)")) }
        }
    }

    private mutating func reorder(_ folder: RowKey?, _ document: RowKey?, in device: inout Replica) {
        guard features.contains(.order) else { return }
        let isFolder = random.chance(70)
        guard let owner = isFolder ? folder : document, let list = device.list(owner, isFolder ? "documents" : "labels") else { return }
        let count = device.destinations(of: list).count
        guard count > 1 else { return }
        let from = Int.random(in: 0..<count, using: &random), to = Int.random(in: 0..<count, using: &random)
        device.move(owner, isFolder ? "documents" : "labels", from: from, to: to)
    }

    private mutating func share(_ key: RowKey, in device: inout Replica) {
        if cloud.zones[CloudModel.share] == nil { cloud.zones[CloudModel.share] = ServerModel() }
        device.learnZones(of: cloud)
        device.share([key], in: CloudModel.share)
    }

    private mutating func delete(_ key: RowKey, in device: inout Replica) {
        let numbers = Dictionary(uniqueKeysWithValues: device.liveKeys.map { ($0, device.number(of: $0)) })
        for key in device.delete(key) { if let number = numbers[key] ?? nil { deleted.insert(number) } }
    }
}

extension Replica {
    /// The number of an object of the model of features.
    func number(of key: RowKey) -> Int64? {
        guard case .int(let number)? = value("number", of: key) else { return nil }
        return number
    }
}
