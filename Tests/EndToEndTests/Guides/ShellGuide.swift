// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

/// A document with shell blocks, and what its reader has when the blocks begin.
struct ShellGuide: Sendable, CustomTestStringConvertible {
    /// Path from the root of the repository.
    let document: String
    /// Shell lines that run before the first block.
    var preparation = ""
    /// Shell lines that run before the line with this prefix: steps that the document has in sentences.
    var before: [(prefix: String, lines: String)] = []
    /// Variables that receive the output of the line with this prefix: the reader copies it.
    var copied: [(prefix: String, variable: String)] = []
    /// Text of the document, and the text that the reader types instead: folders, answers to questions.
    var replaced: [(text: String, replacement: String)] = []
    /// Shell lines that use the scripts which the document shows. They are files named `script-1`, `script-2`, ….
    var afterwards = ""

    var testDescription: String { document }

    /// Beginnings of lines that no test runs here, each with the reason.
    static let linesThatAreNotRun: [(prefix: String, reason: String)] = [
        ("sudo apt ", "installs packages of the system"),
        ("sudo certbot ", "asks a certificate authority"),
        ("sudo install -d ", "needs the system user of the Debian package"),
        ("sudo systemctl ", "needs systemd"), ("systemctl ", "needs systemd"), ("journalctl ", "needs systemd"),
        ("docker ", "needs Docker"), ("ssh ", "needs another machine"), ("xcrun ", "needs a Mac"),
        ("swift ", "CI builds with it"), ("make ", "CI calls it"), ("export PATH=", "CI installs into a prefix of its own"),
        ("./server", "NewProjectTests and make examples run it"), ("./device", "NewProjectTests and make examples run it"),
        ("tarn icloud ", "speaks to Apple's servers; ICloudProgramTests runs it with another address"),
        ("export AWS_", "needs an S3-compatible store; S3ServerTests has one"),
        ("tarn serve --assets ", "needs an S3-compatible store; S3ServerTests has one"),
        ("export TARN_OIDC_CLIENT_SECRET=", "needs an OIDC provider; ForeignProviderTests has one"),
        ("tarn serve --data ./data --public-address https://cloud.example.com --oidc-issuer ", "needs an OIDC provider"),
    ]

    private static let notes = "iCloud.org.example.notes"
    private static let package = [(text: "tarn new Trails", replacement: "tarn new Trails --tarn '\(root.path)'")]
    private static let data = [(text: "/var/lib/tarn", replacement: "./data"), (text: "/var/backups", replacement: "./backups")]

    static let all = [
        ShellGuide(document: "README.md", replaced: package),
        ShellGuide(
            document: "Documentation/Tarn.docc/AServerOnTheInternet.md", preparation: "tarn serve --data ./data",
            before: [
                // The server prints where the link is once it is there.
                ("sudo cat ./data/first-run-link", "read -r line <&3"),
                ("sudo -u tarn tarn schema diff", "tarn record put note-1 title=Milk --type Note --container \(notes) --data ./data"),
                ("latest=", "tarn backup --data ./data --output ./backups/tarn/2026-01-01"),
            ],
            replaced: data + [("/etc/tarn", "./etc"), ("-o tarn -g tarn ", "")],
            afterwards: """
                mkdir etc lineage
                touch lineage/fullchain.pem lineage/privkey.pem
                RENEWED_LINEAGE=lineage sh script-1
                test -f etc/certificate.pem
                test -f etc/key.pem
                """),
        ShellGuide(
            document: "Documentation/Tarn.docc/Installing.md", preparation: "tarn serve --data ./data",
            replaced: data + [("--tarn ../tarn", "--tarn '\(root.path)'")]),
        ShellGuide(
            document: "Documentation/Tarn.docc/LeavingAndEnteringICloud.md", preparation: "tarn serve --data ./data",
            before: [
                (
                    "tarn schema import",
                    """
                    tarn record put note-1 title=Milk --type Note --container \(notes)
                    tarn schema export --container \(notes) > notes.ckdb
                    """
                )
            ]),
        ShellGuide(
            document: "Documentation/Tarn.docc/MovingAnApp.md",
            preparation: """
                mkdir -p Sources/NotesKit
                tarn model new Sources/NotesKit/Notes.xcdatamodeld --entity Note --cloud title:String
                printf '%s\\n' 'import CoreData' 'import UIKit' > Sources/NotesKit/Notes.swift
                """,
            before: [("tarn port Sources", "cat Sources/NotesKit/Notes.swift")],
            afterwards: "test -f folder/Car.jsonl; test -d Model.xcdatamodeld"),
        ShellGuide(
            document: "Documentation/Tarn.docc/ReadingRecordsFromTheWeb.md",
            preparation: """
                tarn serve --data ./data
                cat > recipes.ckdb << 'END'
                \(recipes)
                END
                tarn schema import --container iCloud.org.example.recipes --file recipes.ckdb --data ./data
                tarn schema deploy --container iCloud.org.example.recipes --data ./data
                tarn record put soup CD_title=Soup --type CD_Recipe --container iCloud.org.example.recipes --environment production --data ./data
                """,
            copied: [("tarn token add --", "TOKEN"), ("tarn token add-key ", "KEY_ID")],
            afterwards: """
                sed -i "s|https://cloud.example.org|$address|; s|^curl|curl --silent --show-error --fail|" script-1
                export KEY_ID
                sh script-1 /database/1/iCloud.org.example.recipes/production/public/records/query \\
                    '{ "query": { "recordType": "CD_Recipe" } }' | grep '"recordName":"soup"'
                """),
        ShellGuide(
            document: "Documentation/Tarn.docc/RunningAServer.md",
            before: [
                ("tarn user export NAME", "tarn user add NAME"),
                ("tarn user operator-key mia", "tarn user add mia; tarn user profile mia --operator"),
                (
                    "tarn serve --tls-certificate",
                    """
                    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out server.pem -subj /CN=localhost
                    """
                ),
                ("tarn restore --from FOLDER", "stop; rm -r FOLDER; tarn backup --output FOLDER; rm -r data"),
            ],
            replaced: [("tarn user remove NAME", "tarn user remove NAME --yes")]),
        ShellGuide(
            document: "Documentation/Tarn.docc/ThePublicDatabase.md",
            preparation: """
                tarn serve --data ./data
                tarn record put soup CD_title=Soup --type CD_Recipe --container iCloud.org.example.recipes --data ./data
                """),
        ShellGuide(
            document: "Documentation/Tarn.docc/VersionsOfAnApp.md",
            preparation: """
                tarn serve --data ./data
                cat > contacts.ckdb << 'END'
                \(contacts)
                END
                tarn schema import --container iCloud.org.example.contacts --file contacts.ckdb --data ./data
                tarn schema deploy --container iCloud.org.example.contacts --data ./data
                tarn model new Contacts.xcdatamodeld --entity Contact --cloud name:String
                """),
        ShellGuide(
            document: "Documentation/Tarn.docc/YourFirstApp.md",
            before: [("tarn user token me", "tarn user add me --data .tarn/server")],
            replaced: package),
    ]

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static let contacts = """
        DEFINE SCHEMA
            RECORD TYPE CD_Contact (
                "___recordID" REFERENCE QUERYABLE,
                CD_entityName STRING QUERYABLE,
                CD_moveReceipt BYTES,
                CD_moveReceipt_ckAsset ASSET,
                CD_name STRING,
                CD_name_ckAsset ASSET
            );
        """

    private static let recipes = """
        DEFINE SCHEMA
            RECORD TYPE CD_Recipe (
                "___recordID" REFERENCE QUERYABLE,
                CD_title STRING QUERYABLE SEARCHABLE SORTABLE,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );
        """
}
