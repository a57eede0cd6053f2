// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The version of this release: of the programs, of the packages, and of the newest dated section of `CHANGELOG.md`.
///
/// No format and no protocol depends on it: formats, capabilities and operations have versions of their own. On the wire it is in
/// `User-Agent`, for people who read lists of devices. `Documentation/Compatibility.md` says which changes raise it.
package enum TarnVersion {
    package static let current = "0.2.0"
}
