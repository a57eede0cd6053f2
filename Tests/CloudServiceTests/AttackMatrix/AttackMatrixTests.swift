// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import Testing

/// Role, operation, database, zone, share and credential: each combination is sent to a real service, and has the verdict that
/// `MatrixVerdicts` declares. Rejected requests change nothing, and no response shows data that the sender may not read.
@Suite struct AttackMatrixTests {
    static let scopes = [DatabaseScope.public, .private, .shared]

    @Test(arguments: scopes) func everyCellHasItsVerdict(_ scope: DatabaseScope) async throws {
        let run = MatrixRun(world: try await MatrixWorld())
        // TARN_MATRIX=full varies each axis also where a verdict cannot depend on it.
        let isFull = ProcessInfo.processInfo.environment["TARN_MATRIX"] == "full"
        let cells = Matrix.cells(full: isFull).filter { $0.scope == scope }
        #expect(cells.count > 2000)
        var complaints: [String] = []
        for cell in cells {
            if let complaint = try await run.complaint(about: cell) { complaints.append(complaint) }
        }
        #expect(complaints.isEmpty, "\(complaints.count) cells: \(complaints.prefix(20).joined(separator: "\n"))")
    }

    @Test func everyDeviceOperationHasItsVerdict() async throws {
        let world = try await MatrixWorld()
        for operation in DevicePath.Operation.allCases {
            for sender in Matrix.senders {
                let answer = try await world.send(operation, sender)
                #expect(answer.code == Matrix.expected(operation, sender), "\(sender): \(operation.rawValue)")
            }
        }
    }

    /// Every choice of every axis is in some cell.
    @Test func cellsCoverEveryChoice() {
        let cells = Matrix.cells(full: false)
        #expect(Set(cells).count == cells.count)
        #expect(Set(cells.map(\.operation)) == Set(ServicePath.Operation.allCases))
        #expect(Set(cells.map(\.scope)).count == 3)
        #expect(Set(cells.map(\.probe)) == Set(Matrix.Probe.allCases))
        #expect(Set(cells.map(\.zone)) == Set(Matrix.ZoneKind.allCases))
        #expect(Set(cells.map(\.sender.role)) == Set(Matrix.Role.allCases))
        #expect(Set(cells.map(\.sender)) == Set(Matrix.senders))
        for operation in ServicePath.Operation.allCases {
            for scope in Self.scopes {
                let senders = cells.filter { $0.operation == operation && $0.scope == scope }.map(\.sender)
                #expect(Set(senders) == Set(Matrix.senders), "\(scope.rawValue) \(operation.rawValue)")
            }
        }
    }

    /// A matrix that finds nothing in a service with a wrong permission would prove nothing.
    @Test(arguments: [
        (MatrixWorld.Planted.readOnlyWrites, Matrix.Role.participant(.readOnly, .accepted)),
        (.publicTypeIsOpen, .anonymous), (.hiddenIsShared, .participant(.readOnly, .accepted)),
    ])
    func plantedDefectIsFound(_ planted: MatrixWorld.Planted, _ role: Matrix.Role) async throws {
        let run = MatrixRun(world: try await MatrixWorld(planted: planted))
        let scope = planted == .publicTypeIsOpen ? DatabaseScope.public : .shared
        var complaints = 0
        for cell in Matrix.cells(full: false) where cell.sender.role == role && cell.scope == scope && cell.sender.state == .valid {
            if try await run.complaint(about: cell) != nil { complaints += 1 }
        }
        #expect(complaints > 0)
    }
}
