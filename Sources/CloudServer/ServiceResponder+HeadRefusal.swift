// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import Hummingbird
import NIOCore
import NIOHTTP1

extension ServiceResponder {
    /// Refuses requests of an overloaded server, and counts the others that wait for storage.
    var judge: HeadRefusalHandler.Judge {
        HeadRefusalHandler.Judge { head, address in
            guard HeadRefusals.isAdmitted(path: head.uri) else { return .admitted(isCounted: false) }
            return refusal(of: head, from: address).map { .refused($0) } ?? .admitted(isCounted: true)
        } requestArrived: {
            service.admission.enter()
        } requestEnded: {
            service.admission.leave()
        }
    }

    /// Refuses a request by its head. Such refusals are counted, and not logged: a line each would cost more.
    ///
    /// - Returns: Nil for a request that may be admitted. A page's requests are admitted: its scripts need the headers of its origin.
    private func refusal(of head: HTTPRequestHead, from address: SocketAddress?) -> HeadRefusal? {
        guard service.admission.isPressed, head.method == .POST || head.method == .GET, !head.headers.contains(name: "origin"),
            // The responder refuses it.
            !head.headers.contains(where: { CombiningMarks.areExcessive(in: $0.value) })
        else { return nil }
        let start = ContinuousClock.now
        let parts = head.uri.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1)
        guard let path = parts.first else { return nil }
        let claim = RequestHead(
            path: String(Substring(path)), query: parts.count > 1 ? String(Substring(parts[1])) : "",
            authorization: head.headers.first(name: HeaderNames.authorization),
            keyID: head.headers.first(name: HeaderNames.requestKeyID),
            network: proxies.sender(NetworkAddress(address), forwarded: head.headers["x-forwarded-for"])?.network ?? "")
        guard let refused = service.headRefusals.refusal(of: claim), case .bytes(let body) = refused.body else { return nil }
        var fields = HTTPFields()
        SecurityHeaders.add(to: &fields, isSecure: speaksTLS || head.headers.first(name: "x-forwarded-proto") == "https")
        metrics.count(endpoint: refused.endpoint, status: refused.status, took: ContinuousClock.now - start)
        let security = fields.map { (name: $0.name.rawName, value: $0.value) }
        return HeadRefusal(status: refused.status, headers: refused.headers + security, body: body)
    }
}
