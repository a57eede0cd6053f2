// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Glibc
import SystemSupport

/// Where a phone opens the page of the third device.
struct GuestPlace: Hashable, Sendable {
    /// This machine's address in the local network.
    var address: String
    /// Anyone in the network reaches the address; the page needs this key.
    var key = DemoSecret.make()

    func link(port: Int) -> String { "http://\(address):\(port)/?key=\(key)" }

    /// The address of this machine in its private network.
    ///
    /// - Throws: ``CommandError`` without one.
    static func inLocalNetwork() throws -> GuestPlace {
        guard let address = addresses().first(where: isPrivate) else {
            throw CommandError("This machine has no address in a private network: connect it to one, or leave --share-on-network out.")
        }
        return GuestPlace(address: address)
    }

    /// Source: RFC 1918, "Private Address Space".
    static func isPrivate(_ address: String) -> Bool {
        let parts = address.split(separator: ".").compactMap { UInt8($0) }
        guard parts.count == 4 else { return false }
        return parts[0] == 10 || (parts[0] == 192 && parts[1] == 168) || (parts[0] == 172 && 16...31 ~= parts[1])
    }

    /// Flags of an interface. Source: netdevice(7), `IFF_UP` and `IFF_LOOPBACK`.
    private static let (isUp, isLoopback) = (UInt32(0x1), UInt32(0x8))

    /// IPv4 addresses of the interfaces that are up, without the loopback interface.
    private static func addresses() -> [String] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var addresses: [String] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let address = entry.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET), entry.ifa_flags & isUp != 0,
                entry.ifa_flags & isLoopback == 0
            else { continue }
            var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            guard getnameinfo(address, length, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0 else { continue }
            addresses.append(String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return addresses
    }
}

/// Secrets of one demo.
enum DemoSecret {
    /// 128 random bits.
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in Hex.text(generator.next() as UInt64) }.joined()
    }
}
