// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import TarnCommands

@main struct Tarn {
    static func main() async { await TarnCommand.main() }
}
