// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import PostsApp

@main struct Posts {
    static func main() async { await PostsCommand.main() }
}
