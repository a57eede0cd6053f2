// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

@objc(Entry)
public class Entry: NSManagedObject {
    public override func awakeFromInsert() {
        super.awakeFromInsert()
        setPrimitiveValue(UUID(), forKey: "identifier")
        primitiveCreatedAt = Date()
    }

    public override func willSave() {
        super.willSave()
        if identifier == nil { identifier = UUID() }
    }
}

extension Entry {
    @NSManaged public var createdAt: Date?
    @NSManaged public var identifier: UUID?
    @NSManaged public var folder: Folder?

    @NSManaged private var primitiveCreatedAt: Date?
}

extension Entry: Identifiable {
    public var id: UUID { identifier ?? UUID() }
}
