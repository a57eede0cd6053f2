// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

// These tests use only the public API of Apple's Core Data.

/// A company: an abstract person with two kinds of employees, departments, and projects with several members.
class Person: NSManagedObject {}

/// The life-cycle callbacks of a context's employees, in order.
final class CallbackLog {
    private(set) var names: [String] = []

    func add(_ name: String) { names.append(name) }
}

class Employee: Person {
    /// The key of the log in `userInfo`: a context with a log records the life-cycle callbacks of its employees.
    static let logKey = "log"
    private var log: CallbackLog?

    override func awakeFromInsert() {
        super.awakeFromInsert()
        log = managedObjectContext?.userInfo[Self.logKey] as? CallbackLog
        log?.add("insert")
        setPrimitiveValue(Date(timeIntervalSinceReferenceDate: 5), forKey: "hired")
    }
    override func awakeFromFetch() {
        super.awakeFromFetch()
        log = managedObjectContext?.userInfo[Self.logKey] as? CallbackLog
        log?.add("fetch")
    }
    override func willSave() {
        super.willSave()
        log?.add("willSave")
    }
    override func didSave() {
        super.didSave()
        log?.add(isDeleted ? "didSave deleted" : "didSave")
    }
    override func prepareForDeletion() {
        super.prepareForDeletion()
        log?.add("prepare")
    }
    override func validateForInsert() throws {
        log?.add("validate")
        try super.validateForInsert()
    }
    override func validateForDelete() throws {
        log?.add("validate deletion")
        try super.validateForDelete()
    }
}
final class Manager: Employee {}
final class Department: NSManagedObject {}
final class Project: NSManagedObject {}

enum Company {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared = Shared(model: makeModel())
    static var model: NSManagedObjectModel { shared.model }

    static func makeModel() -> NSManagedObjectModel {
        let person = Library.entity("Person", Person.self)
        let employee = Library.entity("Employee", Employee.self)
        let manager = Library.entity("Manager", Manager.self)
        let department = Library.entity("Department", Department.self)
        let project = Library.entity("Project", Project.self)
        person.isAbstract = true
        let name = Library.attribute("name", .stringAttributeType, isOptional: false, default: "nobody")
        name.setValidationPredicates(
            [NSPredicate(format: "length >= 2"), NSPredicate(format: "length <= 20")],
            withValidationWarnings: ["too short", "too long"])
        let age = Library.attribute("age", .integer16AttributeType, default: 30)
        age.setValidationPredicates(
            [NSPredicate(format: "SELF >= 14"), NSPredicate(format: "SELF <= 99")], withValidationWarnings: ["young", "old"])
        let shown = Library.attribute("shown", .stringAttributeType)
        shown.isTransient = true
        person.properties = [name, age, shown]
        employee.properties = [
            Library.attribute("salary", .decimalAttributeType, default: NSDecimalNumber(value: 100)),
            Library.attribute("hired", .dateAttributeType), Library.attribute("badge", .stringAttributeType),
            Library.attribute("rating", .doubleAttributeType),
        ]
        employee.uniquenessConstraints = [["badge"]]
        manager.properties = [Library.attribute("title", .stringAttributeType)]
        person.subentities = [employee]
        employee.subentities = [manager]
        department.properties = [
            Library.attribute("name", .stringAttributeType), Library.attribute("floor", .integer32AttributeType, default: 0),
        ]
        project.properties = [
            Library.attribute("name", .stringAttributeType), Library.attribute("budget", .doubleAttributeType, default: 0),
        ]
        Library.connect(department, "employees", toMany: true, rule: .denyDeleteRule, with: employee, "department", toMany: false)
        Library.connect(project, "members", toMany: true, with: employee, "projects", toMany: true)
        Library.connect(manager, "reports", toMany: true, with: employee, "manager", toMany: false)
        let derived = NSDerivedAttributeDescription()
        derived.name = "headcount"
        derived.attributeType = .integer64AttributeType
        derived.isOptional = true
        derived.derivationExpression = NSExpression(format: "employees.@count")
        department.properties.append(derived)
        let well = NSFetchedPropertyDescription()
        well.name = "seniors"
        let request = NSFetchRequest<any NSFetchRequestResult>()
        request.entity = employee
        request.predicate = NSPredicate(format: "department == $FETCH_SOURCE AND age >= 50")
        request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        well.fetchRequest = request
        department.properties.append(well)
        let model = NSManagedObjectModel()
        model.entities = [person, employee, manager, department, project]
        return model
    }

    static func container(history: Bool = false) throws -> NSPersistentContainer {
        let container = NSPersistentContainer(name: "Company", managedObjectModel: model)
        let description = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))
        if history { description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey) }
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { failure = $1 }
        if let failure { throw failure }
        return container
    }

    /// Saves three departments, nine employees (two of them managers) and three projects.
    @discardableResult
    static func fill(_ context: NSManagedObjectContext) throws -> [NSManagedObject] {
        try context.performAndWait {
            var departments: [Department] = []
            for (index, name) in ["Sales", "Labs", "Études"].enumerated() {
                let department = Department(context: context)
                department.setValue(name, forKey: "name")
                department.setValue(index + 1, forKey: "floor")
                departments.append(department)
            }
            var people: [Employee] = []
            for (index, name) in ["Ada", "Ben", "Cleo", "Dora", "Émile", "Fritz", "Gus", "Hedy", "Ivo"].enumerated() {
                let person = index % 4 == 0 && index < 8 ? Manager(context: context) : Employee(context: context)
                person.setValue(name, forKey: "name")
                person.setValue(20 + index * 5, forKey: "age")
                person.setValue(NSDecimalNumber(value: 100 + index * 10), forKey: "salary")
                person.setValue("B\(index)", forKey: "badge")
                person.setValue(index % 3 == 0 ? nil : Double(index) / 2, forKey: "rating")
                if index < 8 { person.setValue(departments[index % 2], forKey: "department") }
                people.append(person)
            }
            for (index, person) in people.enumerated() where index % 4 != 0 {
                person.setValue(people[index < 4 ? 0 : 4], forKey: "manager")
            }
            for (index, name) in ["Apollo", "Bison", "Comet"].enumerated() {
                let project = Project(context: context)
                project.setValue(name, forKey: "name")
                project.setValue(Double(index) * 1000, forKey: "budget")
                project.setValue(
                    NSSet(array: people.enumerated().filter { $0.offset % (index + 2) == 0 }.map(\.element)), forKey: "members")
            }
            try context.save()
            return departments
        }
    }

    static func filled(history: Bool = false) throws -> NSManagedObjectContext {
        let context = try container(history: history).newBackgroundContext()
        try fill(context)
        return context
    }
}

extension NSManagedObjectContext {
    func names(_ entity: String, _ format: String, _ arguments: Any...) throws -> [String] {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity)
        request.predicate = NSPredicate(format: format, argumentArray: arguments)
        request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        return try fetch(request).map { $0.value(forKey: "name") as? String ?? "?" }
    }
}
