// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#include "CAllocationCounter.h"

#include <stddef.h>

// The runtime's own hook for instruments is no use: with it, retaining spoils registers that compiled code relies on.
// Sanitizers put their own function in this place.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)

bool allocation_counter_is_there(void) { return false; }
long allocation_counter_value(void) { return 0; }

#else

extern void *__libc_malloc(size_t size);

static _Thread_local long count;

// Stands in front of the C library's function in the whole process.
void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}

bool allocation_counter_is_there(void) { return true; }
long allocation_counter_value(void) { return count; }

#endif
