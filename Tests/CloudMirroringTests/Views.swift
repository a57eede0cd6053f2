// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import ObjectGraph
import Synchronization

/// The objects that a device showed at each commit.
final class Views: Sendable {
    private let seen = Mutex<[String]>([])
    var all: [String] { seen.withLock { $0 } }

    init(of device: Device, _ view: @escaping @Sendable (NSManagedObjectContext) throws -> String) {
        device.container.persistentStoreCoordinator.observeCommits { [self, weak device] _ in
            guard let shown = try? device?.read(view) else { return }
            self.seen.withLock { if $0.last != shown { $0.append(shown) } }
        }
    }
}
