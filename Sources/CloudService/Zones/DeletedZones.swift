// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Removes the contents of deleted zones.
package struct DeletedZones: ServiceSubject {
    let core: ServiceCore

    /// Removes the contents of zones that a request deleted, in units that others do not wait for. A failure leaves them to
    /// ``emptyAll()``.
    func empty(_ zones: [Int64], _ call: Call) async {
        let terms = WorkTerms(requester: call.requester, milliseconds: engine.limits.writeMilliseconds, isBackground: true)
        for zone in zones { try? await storage.empty(ZoneToEmpty(partition: call.partition, key: zone, time: call.now), terms) }
    }

    /// Removes the contents of deleted zones that a server left behind that ended too early. To be called at start and now and then.
    ///
    /// - Throws: The last error, after the other zones were emptied.
    package func emptyAll() async throws {
        var failure: (any Error)?
        for zone in try await storage.zonesToEmpty(limit: 1000) {
            do { try await storage.empty(zone) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
