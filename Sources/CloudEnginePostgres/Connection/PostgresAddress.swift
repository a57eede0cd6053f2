// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CLibPQ
import CloudEngine

/// An address of one or more hosts, such as `postgres://user@host1:port,host2:port/name`.
///
/// libpq walks through several hosts itself, but it has no time limit for each when it doesn't block, and doesn't continue after hosts
/// that reject a connection, for example because they have too many.
///
/// Source: PostgreSQL's documentation, "libpq - Specifying Multiple Hosts".
struct PostgresAddress: Hashable, Sendable {
    struct Parameter: Hashable, Sendable {
        var name: String
        var value: String
    }

    /// Parameters of a connection to each host. At least one: an address without hosts has libpq's default.
    let hosts: [[Parameter]]

    /// - Throws: `StorageFailure` with `.unavailable`, without parts of the address: it may have a password.
    init(_ text: String) throws {
        guard let options = PQconninfoParse(text, nil) else {
            throw StorageFailure(
                .unavailable, "its address is malformed: percent-encode names and passwords, and use parameters of libpq after the ?")
        }
        defer { PQconninfoFree(options) }
        var parameters: [Parameter] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                parameters.append(Parameter(name: String(cString: keyword), value: String(cString: value)))
            }
            option += 1
        }
        let lists = Dictionary(
            uniqueKeysWithValues: parameters.filter { ["host", "hostaddr", "port"].contains($0.name) }.map { parameter in
                (parameter.name, parameter.value.split(separator: ",", omittingEmptySubsequences: false).map(String.init))
            })
        let count = max(lists["host"]?.count ?? 1, lists["hostaddr"]?.count ?? 1)
        for (name, list) in lists where list.count != count && !(name == "port" && list.count == 1) {
            throw StorageFailure(
                .unavailable, "its address has \(count) hosts and \(list.count) values of '\(name)': give one for each host")
        }
        hosts = (0..<count).map { index in
            parameters.compactMap { parameter in
                guard let list = lists[parameter.name] else { return parameter }
                let value = list.count == 1 ? list[0] : list[index]
                return value.isEmpty ? nil : Parameter(name: parameter.name, value: value)
            }
        }
    }
}
