// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Glibc

/// Which processors a server and its load use. Each has its own: otherwise a load that grows takes from the server what it is measured by.
struct ProcessorSplit {
    let server: [Int]
    let client: Int

    /// The last processor for the client, all others for the server.
    ///
    /// - Returns: Nil on a machine with one processor, which both share.
    init?() {
        let usable = Self.usable
        guard let last = usable.last, usable.count > 1 else { return nil }
        server = Array(usable.dropLast())
        client = last
    }

    /// The command of a shell that keeps what follows on the server's processors.
    var shellCommand: String { "taskset -cp \(server.map(String.init).joined(separator: ",")) $$ > /dev/null" }

    /// Keeps the calling thread on the client's processor.
    func keepClient() {
        var set = cpu_set_t()
        withUnsafeMutableBytes(of: &set) { $0[client / 8] = 1 << UInt8(client % 8) }
        _ = sched_setaffinity(0, MemoryLayout<cpu_set_t>.size, &set)
    }

    private static var usable: [Int] {
        var set = cpu_set_t()
        guard sched_getaffinity(0, MemoryLayout<cpu_set_t>.size, &set) == 0 else { return [] }
        return withUnsafeBytes(of: &set) { bytes in
            bytes.indices.flatMap { byte in (0..<8).filter { bytes[byte] >> UInt8($0) & 1 == 1 }.map { byte * 8 + $0 } }
        }
    }
}
