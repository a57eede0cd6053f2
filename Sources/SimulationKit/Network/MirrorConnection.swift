// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudKit
import CloudWire
import Foundation
import MirroringCore
package import TarnMirror

/// The connection of a mirror over a transport of our client: of a simulation, or in process.
package struct MirrorConnection: MirrorTransport {
    private let transport: any CloudTransport

    package init(_ transport: any CloudTransport) { self.transport = transport }

    package func send(_ request: MirrorRequest) async throws -> MirrorResponse {
        let target: TransportRequest.Target =
            switch request.target {
            case .service(let path): .service(path: path)
            case .asset(let address): .asset(address: address)
            }
        var outgoing = TransportRequest(
            method: request.method, target: target, body: request.body.map { .bytes([UInt8]($0)) } ?? .none,
            responseBytesMax: request.responseBytesMax)
        for (name, value) in request.headers.sorted(by: { $0.key < $1.key }) { outgoing.headers.add(name, value) }
        do {
            let response = try await transport.send(outgoing)
            let headers = Dictionary(response.headers.all.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
            return MirrorResponse(status: response.status, headers: headers, body: Data(response.body))
        } catch let error as CKError {
            // A mirror's transport doesn't know which requests change data.
            throw CloudFailure(error.code == .networkUnavailable ? .networkUnavailable : .networkFailure, error.localizedDescription)
        }
    }
}
