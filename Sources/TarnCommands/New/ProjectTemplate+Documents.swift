// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The scripts and the page of a new project.
extension ProjectTemplate {
    var serverScript: String {
        #"""
        #!/bin/sh
        # Starts the server of this project at http://127.0.0.1:8080 (PORT names another port). Its data is in .tarn/server.
        # More options, such as TLS, are in 'tarn serve --help': ./server passes them on.
        set -eu
        cd "$(dirname "$0")"
        exec "${TARN:-tarn}" serve --data .tarn/server --port "${PORT:-8080}" "$@"

        """#
    }

    var deviceScript: String {
        #"""
        #!/bin/sh
        # usage: ./device NAME
        # Builds the app and runs it as the device NAME of the user "me". The first time, it makes a token for the device. APP
        # names a program to run instead, TARN_SERVER another server.
        set -eu
        cd "$(dirname "$0")"
        device=${1:-phone}
        token=.tarn/$device.token
        if [ ! -s "$token" ]; then
            if [ ! -e .tarn/server/tarn.sqlite ]; then
                echo "Start ./server first." >&2
                exit 1
            fi
            # Other users of the computer must not read it. The account "me" is made together with its first device.
            (
                umask 077
                "${TARN:-tarn}" user token me --device "$device" --data .tarn/server > "$token" 2>/dev/null ||
                    "${TARN:-tarn}" user add me --device "$device" --data .tarn/server > "$token"
            )
        fi
        TARN_SERVER=${TARN_SERVER:-http://127.0.0.1:${PORT:-8080}} TARN_TOKEN=$(cat "$token")
        export TARN_SERVER TARN_TOKEN
        if [ -z "${APP:-}" ]; then
            APP=.build/debug/\#(name)
            [ -x "$APP" ] || echo "Building \#(name), and Tarn for it: about 6 minutes on 2 cores the first time." >&2
            swift build --product \#(name) >&2
        fi
        exec "$APP" "$device"

        """#
    }

    var readme: String {
        """
        # \(name)

        Notes that sync, with Core Data and CloudKit by Tarn. It needs Swift 6.3 on Linux, `libsqlite3-dev` and
        `zlib1g-dev`, and `tarn` on the path (or `TARN=/path/to/tarn`).

        | in a terminal | does |
        |---|---|
        | `./server` | starts the server, with its data in `.tarn/server` |
        | `./device phone` | builds and runs the app as one device: type a line to add a note |
        | `./device tablet` | runs it as another device of the same user, in another terminal |
        | `swift test` | syncs two devices in one process, without a server |

        The first build compiles Tarn and its dependencies, which takes some minutes; later ones take seconds.

        ## Files

        | file | contents |
        |---|---|
        | `Sources/\(name)Model/\(name).xcdatamodeld` | the model, in the format of Xcode's editor; the plugin generates the class `Note` |
        | `Sources/\(name)Model/Library.swift` | the `NSPersistentCloudKitContainer`, saving and fetching |
        | `Sources/\(name)/\(name).swift` | the program |
        | `Tests/\(name)Tests` | a test with `CloudKitTesting` |
        | `server`, `device` | how the programs are started; nothing in the code names a server or a user |

        Delete `.tarn` to begin again without data and accounts.

        """
    }
}
