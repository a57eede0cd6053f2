// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// Predicates and requests as apps write them; each is also evaluated in memory.
@Suite struct QueryCornerTests {
    static let all = ["Ada", "Ben", "Cleo", "Dora", "Fritz", "Gus", "Hedy", "Ivo", "Émile"]

    struct Case: Sendable, CustomTestStringConvertible {
        var entity = "Employee"
        var format: String
        var names: [String]
        var testDescription: String { format }
        init(_ format: String, _ names: [String], of entity: String = "Employee") {
            (self.entity, self.format, self.names) = (entity, format, names)
        }
    }

    static let cases: [Case] = [
        Case("age BETWEEN {25, 35}", ["Ben", "Cleo", "Dora"]),
        Case("NOT age BETWEEN {25, 55}", ["Ada", "Ivo"]),
        Case("name IN {'Ada', 'Gus', 'Zoe'}", ["Ada", "Gus"]),
        Case("NOT (name IN {'Ada', 'Gus'}) AND age < 40", ["Ben", "Cleo", "Dora"]),
        Case("name BEGINSWITH[cd] 'e'", ["Émile"]),
        Case("name BEGINSWITH 'e'", []),
        Case("name ENDSWITH[c] 'O'", ["Cleo", "Ivo"]),
        Case("name CONTAINS[cd] 'EM'", ["Émile"]),
        Case("name LIKE '?e*'", ["Ben", "Hedy"]),
        Case("name LIKE[cd] '*E*'", ["Ben", "Cleo", "Hedy", "Émile"]),
        Case("name MATCHES '[A-C].*'", ["Ada", "Ben", "Cleo"]),
        Case("name MATCHES 'd'", []),
        Case("name ==[cd] 'EMILE'", ["Émile"]),
        Case("name !=[c] 'ADA' AND age <= 25", ["Ben"]),
        Case("rating == nil", ["Ada", "Dora", "Gus"]),
        Case("rating != nil AND rating > 3", ["Hedy", "Ivo"]),
        Case("rating == NULL OR rating < 1", ["Ada", "Ben", "Dora", "Gus"]),
        Case("rating < 100", ["Ben", "Cleo", "Fritz", "Hedy", "Ivo", "Émile"]),
        Case("department == nil", ["Ivo"]),
        Case("department.name == 'Sales' AND age > 30", ["Gus", "Émile"]),
        Case("department.name != 'Sales'", ["Ben", "Dora", "Fritz", "Hedy", "Ivo"]),
        Case("manager.manager == nil AND manager != nil", ["Ben", "Cleo", "Dora", "Fritz", "Gus", "Hedy"]),
        Case("manager.department.floor == 1", ["Ben", "Cleo", "Dora", "Fritz", "Gus", "Hedy"]),
        Case("ANY projects.name == 'Comet'", ["Ada", "Ivo", "Émile"]),
        Case("NONE projects.name == 'Apollo'", ["Ben", "Dora", "Fritz", "Hedy"]),
        Case("ANY projects.budget > 1500", ["Ada", "Ivo", "Émile"]),
        Case("SOME projects.budget BETWEEN {900, 1100}", ["Ada", "Dora", "Gus"]),
        Case("ALL projects.budget < 1500", ["Ben", "Cleo", "Dora", "Fritz", "Gus", "Hedy"]),
        Case("projects.@count == 0", ["Ben", "Fritz", "Hedy"]),
        Case("projects.@count > 1", ["Ada", "Gus", "Ivo", "Émile"]),
        Case("projects.@max.budget == 2000", ["Ada", "Ivo", "Émile"]),
        Case("projects.@sum.budget >= 3000", ["Ada"]),
        Case("projects.@avg.budget == 500", ["Gus"]),
        Case("SUBQUERY(projects, $p, $p.budget > 500 AND $p.name BEGINSWITH 'B').@count > 0", ["Ada", "Dora", "Gus"]),
        Case("SUBQUERY(projects, $p, $p.name IN {'Apollo', 'Comet'}).@count == 2", ["Ada", "Ivo", "Émile"]),
        Case("TRUEPREDICATE", all),
        Case("FALSEPREDICATE", []),
        Case("1 == 1 AND age >= 55", ["Hedy", "Ivo"]),
        Case("name == department.name", []),
        Case("age + 5 == 30", ["Ben"]),
        Case("salary >= 150 AND salary <= 170", ["Fritz", "Gus", "Hedy"]),
        Case("SELF.name == 'Ada'", ["Ada"]),
        Case("%K == %@".replacingOccurrences(of: "%K", with: "name").replacingOccurrences(of: "%@", with: "'Ada'"), ["Ada"]),
        Case("name.length > 4", ["Fritz", "Émile"]),
        Case("lowercase(name) == 'ada'", ["Ada"]),
        Case("hired == CAST(5, 'NSDate')", all),
        Case("hired < now()", all),
        Case("entity.name == 'Manager'", ["Ada", "Émile"]),
        Case("title == nil", ["Ada", "Émile"], of: "Manager"),
        Case("reports.@count == 3", ["Ada", "Émile"], of: "Manager"),
        Case("ANY reports.age > 50", ["Émile"], of: "Manager"),
        Case("ANY reports.projects.name == 'Bison'", ["Ada", "Émile"], of: "Manager"),
        Case("reports.@max.age == 55", ["Émile"], of: "Manager"),
        Case("employees.@count > 3 AND ALL employees.age < 100", ["Labs", "Sales"], of: "Department"),
        Case("employees.@min.age == 25", ["Labs"], of: "Department"),
        Case("SUBQUERY(employees, $e, ANY $e.projects.name == 'Comet').@count == 2", ["Sales"], of: "Department"),
        Case("headcount == 4", ["Labs", "Sales"], of: "Department"),
        Case("name CONTAINS[cd] 'etudes'", ["Études"], of: "Department"),
        Case("employees.@count == 0", ["Études"], of: "Department"),
        Case("ALL employees.age > 1000", ["Études"], of: "Department"),
        Case("members.@count == 5", ["Apollo"], of: "Project"),
        Case("ANY members.department.name == 'Labs'", ["Bison"], of: "Project"),
    ]

    @Test(arguments: cases) func aPredicateFindsTheSameObjectsInStoreAndMemory(_ test: Case) throws {
        let context = try Company.filled()
        try context.performAndWait {
            #expect(try context.names(test.entity, test.format) == test.names)
            let request = NSFetchRequest<NSManagedObject>(entityName: test.entity)
            let predicate = NSPredicate(format: test.format)
            let inMemory = try context.fetch(request).filter { predicate.evaluate(with: $0) }.compactMap {
                $0.value(forKey: "name") as? String
            }
            #expect(inMemory.sorted() == test.names.sorted(), "in memory")
        }
    }

    @Test func anAbstractEntityFetchesItsSubentities() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Person>(entityName: "Person")
            #expect(try context.count(for: request) == 9)
            let people = try context.fetch(request)
            #expect(people.filter { $0 is Manager }.count == 2)
            #expect(people.allSatisfy { $0.entity.isKindOf(entity: request.entity ?? NSEntityDescription()) })
            request.includesSubentities = false
            #expect(try context.count(for: request) == 0)
            let employees = NSFetchRequest<Employee>(entityName: "Employee")
            employees.includesSubentities = false
            #expect(try context.count(for: employees) == 7)
        }
    }

    @Test func sortingFollowsKeyPathsAndSeveralKeys() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Employee>(entityName: "Employee")
            request.predicate = NSPredicate(format: "department != nil")
            request.sortDescriptors = [
                NSSortDescriptor(key: "department.name", ascending: false), NSSortDescriptor(key: "age", ascending: false),
            ]
            let byDepartment = try context.fetch(request).map { $0.value(forKey: "name") as? String }
            #expect(byDepartment == ["Gus", "Émile", "Cleo", "Ada", "Hedy", "Fritz", "Dora", "Ben"])
            request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true, selector: Selector(("localizedStandardCompare:")))]
            #expect(
                try context.fetch(request).map { $0.value(forKey: "name") as? String } == [
                    "Ada", "Ben", "Cleo", "Dora", "Émile", "Fritz", "Gus", "Hedy",
                ])
        }
    }

    @Test func nilComesFirstInAscendingOrder() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Employee>(entityName: "Employee")
            request.sortDescriptors = [NSSortDescriptor(key: "rating", ascending: true), NSSortDescriptor(key: "name", ascending: true)]
            #expect(try context.fetch(request).prefix(4).map { $0.value(forKey: "name") as? String } == ["Ada", "Dora", "Gus", "Ben"])
            let objects = try context.fetch(NSFetchRequest<Employee>(entityName: "Employee")) as NSArray
            let sorted = objects.sortedArray(using: request.sortDescriptors ?? [])
            #expect(sorted.prefix(4).map { ($0 as? Employee)?.value(forKey: "name") as? String } == ["Ada", "Dora", "Gus", "Ben"])
        }
    }

    @Test func groupedFetchesHaveSumsAndAreFilteredByHaving() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let sum = NSExpressionDescription()
            sum.name = "total"
            sum.expression = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: "age")])
            sum.expressionResultType = .integer64AttributeType
            let count = NSExpressionDescription()
            count.name = "count"
            count.expression = NSExpression(forFunction: "count:", arguments: [NSExpression(forKeyPath: "name")])
            count.expressionResultType = .integer64AttributeType
            let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
            request.resultType = .dictionaryResultType
            request.propertiesToFetch = ["department.name", sum, count]
            request.propertiesToGroupBy = ["department.name"]
            request.sortDescriptors = [NSSortDescriptor(key: "department.name", ascending: true)]
            let rows = try context.fetch(request)
            #expect(rows.map { $0["department.name"] as? String } == [nil, "Labs", "Sales"])
            #expect(rows.map { integer($0["total"]) } == [60, 160, 140])
            request.havingPredicate = NSPredicate(format: "count > 1 AND total > 150")
            #expect(try context.fetch(request).map { $0["department.name"] as? String } == ["Labs"])
        }
    }

    @Test func aHavingPredicateNamesAnExpressionByVariable() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let expression = NSExpression(forFunction: "max:", arguments: [NSExpression(forKeyPath: "age")])
            let oldest = NSExpressionDescription()
            oldest.name = "oldest"
            oldest.expression = expression
            oldest.expressionResultType = .integer64AttributeType
            let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
            request.resultType = .dictionaryResultType
            request.propertiesToFetch = ["department", oldest]
            request.propertiesToGroupBy = ["department"]
            request.havingPredicate = NSComparisonPredicate(
                leftExpression: expression, rightExpression: NSExpression(forConstantValue: 52), modifier: .direct, type: .lessThan)
            let rows = try context.fetch(request)
            #expect(rows.map { integer($0["oldest"]) } == [50])
        }
    }

    @Test func aDistinctFetchReturnsValuesOfAKeyPath() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
            request.resultType = .dictionaryResultType
            request.propertiesToFetch = ["manager.name"]
            request.returnsDistinctResults = true
            let names = try context.fetch(request).compactMap { $0["manager.name"] as? String }
            #expect(names.sorted() == ["Ada", "Émile"])
        }
    }

    @Test func theCountResultTypeReturnsTheCount() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<NSNumber>(entityName: "Employee")
            request.resultType = .countResultType
            let counts = try context.fetch(request)
            #expect(counts == [9])
            request.fetchLimit = 4
            #expect(try context.count(for: request) == 4)
            request.fetchLimit = 0
            request.fetchOffset = 7
            #expect(try context.count(for: request) == 2)
        }
    }

    @Test func derivedCountsFollowSavesAfterARefresh() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Department>(entityName: "Department")
            request.predicate = NSPredicate(format: "name == 'Sales'")
            let sales = try context.fetch(request)[0]
            #expect(integer(sales.value(forKey: "headcount")) == 4)
            Employee(context: context).setValue(sales, forKey: "department")
            #expect(integer(sales.value(forKey: "headcount")) == 4)
            try context.save()
            context.refresh(sales, mergeChanges: false)
            #expect(integer(sales.value(forKey: "headcount")) == 5)
        }
    }

    @Test func fetchedPropertiesFetchWithTheirSource() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Department>(entityName: "Department")
            request.sortDescriptors = [NSSortDescriptor(key: "floor", ascending: true)]
            let departments = try context.fetch(request)
            #expect((departments[0].value(forKey: "seniors") as? [NSManagedObject])?.map { $0.value(forKey: "name") as? String } == ["Gus"])
            #expect(
                (departments[1].value(forKey: "seniors") as? [NSManagedObject])?.map { $0.value(forKey: "name") as? String } == ["Hedy"])
            #expect((departments[2].value(forKey: "seniors") as? [NSManagedObject])?.isEmpty == true)
        }
    }

    @Test func collectionOperatorsAreEvaluatedInKeyPaths() throws {
        let context = try Company.filled()
        try context.performAndWait {
            let request = NSFetchRequest<Department>(entityName: "Department")
            request.sortDescriptors = [NSSortDescriptor(key: "floor", ascending: true)]
            let sales = try context.fetch(request)[0]
            #expect(integer(sales.value(forKeyPath: "employees.@count")) == 4)
            #expect(integer(sales.value(forKeyPath: "employees.@sum.age")) == 140)
            #expect((sales.value(forKeyPath: "employees.@avg.age") as? NSNumber)?.doubleValue == 35)
            #expect(integer(sales.value(forKeyPath: "employees.@min.age")) == 20)
            #expect((sales.value(forKeyPath: "employees.@max.name") as? String) == "Émile")
            #expect((sales.value(forKeyPath: "employees.name") as? Set<String>) == ["Ada", "Cleo", "Émile", "Gus"])
            let projects = sales.value(forKeyPath: "employees.@distinctUnionOfSets.projects") as? NSSet
            #expect(projects?.count == 3)
            #expect((sales.value(forKeyPath: "employees.@avg.rating") as? NSNumber)?.doubleValue == 0.75)
            #expect((sales.value(forKeyPath: "employees.@max.rating") as? Double) == 2)
            #expect(integer(sales.value(forKeyPath: "name.length")) == 5)
        }
    }
}
