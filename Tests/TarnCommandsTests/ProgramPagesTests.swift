// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Testing

@testable import TarnCommands

struct ProgramPagesTests {
    @Test func codeIsWhatCanBeExecutedAndNotBeWrittenTo() {
        let maps = """
            55a1ceb4c000-55a1d210f000 r-xp 00000000 fe:00 131 /usr/bin/a program
            55a1d2110000-55a1d2270000 r--p 035c3000 fe:00 131 /usr/bin/a program
            55a1d2270000-55a1d4854000 rw-p 03723000 fe:00 131 /usr/bin/a program
            55a1d5000000-55a1d5001000 rwxp 00000000 fe:00 131 /usr/bin/a program
            7f0000000000-7f0000001000 rw-p 00000000 00:00 0
            7f0000002000-7f0000003000 r-xp 00000000 fe:00 99 /usr/lib/libc.so.6
            7fff00000000-7fff00002000 r-xp 00000000 00:00 0 [vdso]
            nonsense
            """
        #expect(
            ProgramPages.codeMappings(of: maps) == [
                ProgramPages.Mapping(start: 0x55a1_ceb4_c000, byteCount: 0x35C_3000),
                ProgramPages.Mapping(start: 0x7f00_0000_2000, byteCount: 0x1000),
            ])
    }

    @Test func aProcessFindsItsCodeAndRunsOnWithoutIt() throws {
        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        #expect(!ProgramPages.codeMappings(of: maps).isEmpty)
        ProgramPages.release()
        #expect(try JSONDecoder().decode([Int].self, from: Data("[1,2]".utf8)) == [1, 2])
    }
}
