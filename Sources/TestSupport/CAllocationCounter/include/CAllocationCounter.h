// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#pragma once

#include <stdbool.h>

/// Whether memory is counted: not where a sanitizer has the heap.
bool allocation_counter_is_there(void);

/// How often this thread has taken memory from the heap.
long allocation_counter_value(void);
