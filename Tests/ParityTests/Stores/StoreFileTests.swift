// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Stores that are open when their file is destroyed, replaced or moved, and options that a store does not take.
@Suite struct StoreFileTests {
    private func url() throws -> URL { try Depot.folder().appendingPathComponent("depot.sqlite") }

    private func filled(_ url: URL, _ name: String, options: [AnyHashable: Any]? = nil) throws -> NSPersistentStoreCoordinator {
        let coordinator = try Depot.coordinator(NSSQLiteStoreType, at: url, options: options)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            Depot.insert("Item", ["name": name], into: context)
            try context.save()
        }
        return coordinator
    }

    private func names(_ coordinator: NSPersistentStoreCoordinator) throws -> [String] {
        let context = Depot.context(over: coordinator)
        return try context.performAndWait { Depot.names(try context.fetch(Depot.request("Item", nil, sort: "name"))) }
    }

    @Test func anOpenStoreIsRemovedAndItsFileStays() throws {
        let place = try url()
        let coordinator = try filled(place, "nut")
        try coordinator.destroyPersistentStore(at: place, ofType: NSSQLiteStoreType)
        #expect(coordinator.persistentStores.isEmpty)
        #expect(FileManager.default.fileExists(atPath: place.path), "another process may have the file open")
        try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: place)
        #expect(try names(coordinator) == [])
    }

    @Test func anOpenStoreIsRemovedBeforeItIsReplaced() throws {
        let (source, destination) = (try url(), try url())
        _ = try filled(source, "nut")
        let coordinator = try filled(destination, "bolt")
        try coordinator.replacePersistentStore(at: destination, withPersistentStoreFrom: source, type: .sqlite)
        #expect(coordinator.persistentStores.isEmpty)
        try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: destination)
        #expect(try names(coordinator) == ["nut"])
    }

    @Test func aMovedStoreBeginsItsHistoryAnew() throws {
        let options: [AnyHashable: Any] = [NSPersistentHistoryTrackingKey: true]
        let coordinator = try filled(try url(), "nut", options: options)
        let will = Heard(.NSPersistentStoreCoordinatorStoresWillChange, from: coordinator)
        let did = Heard(.NSPersistentStoreCoordinatorStoresDidChange, from: coordinator)
        let store = try #require(coordinator.persistentStores.first)
        let target = try coordinator.migratePersistentStore(store, to: try url(), options: options, type: .sqlite)
        for heard in [will, did] {
            let changes = heard.take().map(\.userInfo)
            #expect(changes.count == 2)
            #expect(changes.first??[NSRemovedPersistentStoresKey] as? [NSPersistentStore] == [store])
            #expect(changes.last??[NSAddedPersistentStoresKey] as? [NSPersistentStore] == [target])
            #expect(changes.last??[NSUUIDChangedPersistentStoresKey] as? [NSPersistentStore] == [store, target])
        }
        #expect(target !== store)
        let context = Depot.context(over: coordinator)
        try context.performAndWait {
            let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
            let history = (try context.execute(request) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction]
            #expect((history ?? []).count <= 1, "earlier transactions are not copied")
        }
        #expect(try names(coordinator) == ["nut"])
    }

    @Test func storesComeAndGoWithAWarning() throws {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Depot.makeModel())
        let will = Heard(.NSPersistentStoreCoordinatorStoresWillChange, from: coordinator)
        let did = Heard(.NSPersistentStoreCoordinatorStoresDidChange, from: coordinator)
        let store = try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
        #expect(will.take().count == 1)
        #expect(did.take().count == 1)
        try coordinator.remove(store)
        #expect(will.take().count == 1)
        #expect(did.take().count == 1)
    }

    @Test func theSameFileIsAddedOnce() throws {
        let place = try url()
        let coordinator = try filled(place, "nut")
        let error = #expect(throws: CocoaError.self) {
            try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: place)
        }
        #expect(error?.code == .persistentStoreOpen)
        #expect(coordinator.persistentStores.count == 1)
    }

    @Test func aDescriptionIsAddedWithACompletion() async throws {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Depot.makeModel())
        for isAsynchronous in [false, true] {
            let description = NSPersistentStoreDescription(url: try url())
            description.shouldAddStoreAsynchronously = isAsynchronous
            let failed = await withCheckedContinuation { continuation in
                coordinator.addPersistentStore(with: description) { completed, error in
                    continuation.resume(returning: error != nil || completed.url != description.url)
                }
            }
            #expect(!failed)
        }
        #expect(coordinator.persistentStores.count == 2)
        let file = try url()
        try Data().write(to: file)
        let missing = NSPersistentStoreDescription(url: file.appendingPathComponent("below/depot.sqlite"))
        let error = await withCheckedContinuation { continuation in
            coordinator.addPersistentStore(with: missing) { continuation.resume(returning: $1.map { $0 as NSError }) }
        }
        #expect(error != nil)
    }

    // MARK: Options

    /// Header fields of a database: the page size, and the version of its journal.
    private func header(_ url: URL) throws -> (pageSize: Int, journal: UInt8) {
        let bytes = [UInt8](try Data(contentsOf: url).prefix(20))
        return (Int(bytes[16]) << 8 | Int(bytes[17]), bytes[18])
    }

    @Test func pragmasThatDecideAboutTheFormAreLeftOut() throws {
        let (plain, place) = (try url(), try url())
        let pragmas = [
            "journal_mode": "DELETE", "page_size": "1024", "encoding": "UTF-16", "auto_vacuum": "NONE", "locking_mode": "EXCLUSIVE",
            "foreign_keys": "ON", "cache_size": "100",
        ]
        let stores = [try filled(plain, "nut"), try filled(place, "nut", options: [NSSQLitePragmasOption: pragmas])]
        #expect(try header(place) == header(plain))
        #expect(try header(place).journal == 2, "the write-ahead log")
        // Another connection is not locked out.
        #expect(try names(Depot.coordinator(NSSQLiteStoreType, at: place)) == ["nut"])
        withExtendedLifetime(stores) {}
    }

    @Test func timeoutAndPoolSizeAreTaken() throws {
        let place = try url()
        let options: [AnyHashable: Any] = [NSPersistentStoreTimeoutOption: 0.05, NSPersistentStoreConnectionPoolMaxSizeKey: 1]
        let coordinator = try filled(place, "nut", options: options)
        #expect(try names(coordinator) == ["nut"])
        #expect(coordinator.persistentStores.first?.options?[NSPersistentStoreTimeoutOption] as? Double == 0.05)
    }

    @Test func theDefaultFolderFollowsTheEnvironment() async {
        await #expect(processExitsWith: .success) {
            setenv("XDG_DATA_HOME", "/tmp/data", 1)
            let name = ProcessInfo.processInfo.processName
            guard NSPersistentContainer.defaultDirectoryURL().path == "/tmp/data/\(name)" else { exit(1) }
            // A relative path is ignored, as the XDG Base Directory Specification asks for.
            for path in ["", "data"] {
                setenv("XDG_DATA_HOME", path, 1)
                let home = FileManager.default.homeDirectoryForCurrentUser.path
                guard NSPersistentContainer.defaultDirectoryURL().path == "\(home)/.local/share/\(name)" else { exit(2) }
            }
            exit(0)
        }
    }
}
