// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors
#include <zlib.h>

// Macros that Swift does not import: they pass the library's version and the size of its structure.
static inline int tarn_deflate_init_gzip(z_stream *stream, int level, int strategy) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, strategy);
}

static inline int tarn_inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, 15 + 16); }

// Without a header: what Core Data's stores hold.
static inline int tarn_inflate_init_raw(z_stream *stream) { return inflateInit2(stream, -15); }
