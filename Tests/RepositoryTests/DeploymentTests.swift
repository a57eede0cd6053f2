// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// Files of `Packaging/deployment` agree with the server.
@Suite struct DeploymentTests {
    private static func names(in text: String) -> Set<String> {
        Set(text.matches(of: /\btarn_[a-z_]+/).map { String($0.0) })
    }

    @Test func theDashboardNamesMetricsOfTheServer() throws {
        let dashboard = try RepositoryFiles.text(at: "Packaging/deployment/grafana.json")
        let sources = try ["Sources/CloudServer/RequestMetrics.swift", "Sources/TarnCommands/Serve/ServeCommand.swift"]
            .map { try RepositoryFiles.text(at: $0) }.joined()
        let shown = Set(Self.names(in: dashboard).map { $0.replacing(/_(bucket|sum|count)$/, with: "") })
        #expect(shown.count > 8)
        #expect(shown.subtracting(Self.names(in: sources)) == [], "the server has no such metric")
    }

    @Test func theManifestAsksForTheServersPaths() throws {
        let manifest = try RepositoryFiles.text(at: "Packaging/deployment/kubernetes.yaml")
        let service = try RepositoryFiles.text(at: "Sources/CloudService/CloudService.swift")
        for path in manifest.matches(of: /path: (\/\w+)/).map({ String($0.1) }) {
            #expect(service.contains("request.path == \"\(path)\""), "\(path)")
        }
    }
}
