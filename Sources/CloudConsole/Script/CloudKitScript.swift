// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Our JavaScript client of the protocol, as `/cloudkit.js` serves it.
///
/// Source: Apple's documentation of CloudKit JS, for names and meanings only.
enum CloudKitScript {
    static let text = """
        // SPDX-License-Identifier: Apache-2.0
        (() => {
        "use strict";
        \(core)

        \(container)

        \(database)

        \(namespace)
        })();

        """
}
