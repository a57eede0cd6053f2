// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CoreData

// Classes as apps write them by hand: nothing here knows of Tarn.

public class Thing: NSManagedObject {
    @NSManaged public private(set) var created: Date
    @NSManaged var uuid: UUID?

    public override func awakeFromInsert() {
        super.awakeFromInsert()
        primitiveCreated = Date(timeIntervalSinceReferenceDate: 1000)
    }
}

extension Thing {
    @NSManaged fileprivate var primitiveCreated: Date
}

final class Note: Thing {
    @nonobjc class func fetchRequest() -> NSFetchRequest<Note> { NSFetchRequest<Note>(entityName: "Note") }

    enum Mood: Int16 { case calm, wild }
    struct Color: RawRepresentable, Equatable { var rawValue: String }

    @NSManaged var title: String
    @NSManaged var text: String?
    @NSManaged var count: Int32, stars: Int16
    @NSManaged var size: Int64
    @NSManaged var plain: Int
    @NSManaged var ratio: Double
    @NSManaged var part: Float
    @NSManaged var isDone: Bool
    @NSManaged var number: NSNumber?
    @NSManaged var price: NSDecimalNumber?
    @NSManaged var cost: Decimal
    @NSManaged var link: URL?
    @NSManaged var data: Data?
    @NSManaged var due: TimeInterval
    @NSManaged var mood: Mood
    @NSManaged var color: Color?
    @NSManaged var parent: Note?
    @NSManaged var children: Set<Note>
    @NSManaged var labels: NSSet?
    @NSManaged private var secret: String?

    var revealed: String? {
        get { secret }
        set { secret = newValue }
    }

    /// An accessor of the app's own over the primitive value.
    var shout: String? {
        get {
            willAccessValue(forKey: "text")
            defer { didAccessValue(forKey: "text") }
            return primitiveText?.uppercased()
        }
        set {
            willChangeValue(forKey: "text")
            primitiveText = newValue
            didChangeValue(forKey: "text")
        }
    }

    @NSManaged private var primitiveText: String?

    #if canImport(ObjectiveC)
        @objc
    #endif
    var initial: String { String(title.prefix(1)) }

    #if canImport(ObjectiveC)
        @objc(isShort)
    #endif
    var short: Bool { title.count < 5 }
}

extension Note {
    #if canImport(ObjectiveC)
        @objc
    #endif
    var nickname: String? {
        get { revealed.map { "*\($0)*" } }
        set { revealed = newValue }
    }

    #if canImport(ObjectiveC)
        @objc
    #endif
    var rank: Int16 {
        get { stars * 10 }
        set { stars = newValue / 10 }
    }
}

extension Note {
    @NSManaged func addToLabels(_ value: Label)
    @NSManaged func removeFromLabels(_ value: Label)
    @NSManaged func addToLabels(_ values: NSSet)
    @NSManaged func addChildren(_ values: Set<NSManagedObject>)
}

class Label: NSManagedObject, Identifiable {
    #if os(Linux)
        @NSManaged var größe: String?
    #else
        @NSManaged var groesse: NSString?
    #endif
    @NSManaged var notes: Set<Note>?
}
