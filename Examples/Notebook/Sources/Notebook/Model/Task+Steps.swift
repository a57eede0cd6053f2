// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData

@objc(Task)
public class Task: Entry {
    @NSManaged public var due: TimeInterval
    @NSManaged public var isDone: Bool
    @NSManaged public var steps: NSOrderedSet?
}

extension Task {
    @objc(insertObject:inStepsAtIndex:)
    @NSManaged public func insertIntoSteps(_ value: Step, at idx: Int)

    @objc(removeObjectFromStepsAtIndex:)
    @NSManaged public func removeFromSteps(at idx: Int)

    @objc(addStepsObject:)
    @NSManaged public func addToSteps(_ value: Step)

    @objc(addSteps:)
    @NSManaged public func addToSteps(_ values: NSOrderedSet)
}

@objc(Step)
public class Step: NSManagedObject {
    @NSManaged public var label: String?
    @NSManaged public var task: Task?
}
