// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite struct AsynchronousFetchTests {
    /// The arguments of a completion.
    private struct Outcome: Sendable {
        var amounts: [Int]?
        var error: CocoaError.Code?
        var completed: Int64 = 0
        var isOnContext = false
    }

    private func outcome(
        _ context: NSManagedObjectContext, cancelled: Bool = false,
        _ configure: @escaping @Sendable (NSFetchRequest<NSManagedObject>) -> Void = { _ in }
    ) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            context.perform {
                let request = Shelves.sorted("Item", by: "amount")
                configure(request)
                let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) {
                    (result: NSAsynchronousFetchResult<NSManagedObject>) in
                    var outcome = Outcome()
                    outcome.amounts = result.finalResult?.map { $0.value(forKey: "amount") as? Int ?? -1 }
                    outcome.error = (result.operationError as? CocoaError)?.code
                    outcome.completed = result.progress?.completedUnitCount ?? -1
                    outcome.isOnContext = result.managedObjectContext === context
                    continuation.resume(returning: outcome)
                }
                asynchronous.estimatedResultCount = 8
                do {
                    let result = try context.execute(asynchronous)
                    let pending = result as? NSAsynchronousFetchResult<NSManagedObject>
                    #expect(pending != nil)
                    #expect(pending?.finalResult == nil)
                    #expect(pending?.fetchRequest === asynchronous)
                    #expect(pending?.managedObjectContext === context)
                    let running: NSPersistentStoreAsynchronousResult? = pending
                    #expect(running != nil)
                    #expect(running?.operationError == nil)
                    if cancelled { pending?.cancel() }
                } catch { continuation.resume(throwing: error) }
            }
        }
    }

    @Test func anAsynchronousFetchDeliversItsResultLater() async throws {
        let context = try FetchRequestTests.filled()
        let outcome = try await outcome(context)
        #expect(outcome.amounts == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(outcome.error == nil)
        #expect(outcome.completed == 8)
        #expect(outcome.isOnContext)
    }

    @Test(arguments: [0, 3])
    func anAsynchronousFetchObeysTheOptionsOfItsRequest(batchSize: Int) async throws {
        let context = try FetchRequestTests.filled()
        let outcome = try await outcome(context) { request in
            request.predicate = NSPredicate(format: "amount > 2")
            request.fetchLimit = 3
            request.fetchBatchSize = batchSize
            request.relationshipKeyPathsForPrefetching = ["shelf"]
        }
        #expect(outcome.amounts == [3, 4, 5])
    }

    @Test func resultsIncludeUnsavedChanges() async throws {
        let context = try FetchRequestTests.filled()
        await context.perform { _ = Shelves.insert("Item", ["amount": 5], into: context) }
        #expect(try await outcome(context).amounts == [1, 2, 3, 4, 5, 5, 6, 7, 8])
        let windowed = try await outcome(context) {
            $0.fetchOffset = 4; $0.fetchLimit = 2
        }
        #expect(windowed.amounts == [5, 5])
    }

    @Test func aCancelledFetchHasNoResult() async throws {
        let context = try FetchRequestTests.filled()
        let outcome = try await outcome(context, cancelled: true)
        #expect(outcome.amounts == nil)
    }

    @Test func aChildContextFetchesAsynchronously() async throws {
        let parent = try FetchRequestTests.filled()
        let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        child.parent = parent
        #expect(try await outcome(child).amounts == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test func anAsynchronousFetchRequestKeepsItsArguments() {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
        let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { _ in }
        #expect(asynchronous.fetchRequest === request)
        #expect(asynchronous.completionBlock != nil)
        #expect(asynchronous.estimatedResultCount == 0)
        #expect(asynchronous.requestType == .fetchRequestType)
    }

    @Test func anAsynchronousFetchDeliversDictionaries() async throws {
        let context = try FetchRequestTests.filled()
        let kinds: [String] = try await withCheckedThrowingContinuation { continuation in
            context.perform {
                let request = NSFetchRequest<NSDictionary>(entityName: "Item")
                request.resultType = .dictionaryResultType
                request.propertiesToFetch = ["kind"]
                request.returnsDistinctResults = true
                request.sortDescriptors = [NSSortDescriptor(key: "kind", ascending: true)]
                let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { (result: NSAsynchronousFetchResult<NSDictionary>) in
                    continuation.resume(returning: (result.finalResult ?? []).compactMap { $0["kind"] as? String })
                }
                do { _ = try context.execute(asynchronous) } catch { continuation.resume(throwing: error) }
            }
        }
        #expect(kinds == ["book", "tool", "toy"])
    }
}
