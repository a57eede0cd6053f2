// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#ifndef TARN_C_RUNTIME_RECORDS_H
#define TARN_C_RUNTIME_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

/// Receives one class of a loaded image. Returns false to stop the walk.
typedef bool (*tarn_class_visitor)(const char *module, const char *name, const void *(*metadata)(uintptr_t), void *context);

/// Walks the Swift type records of every loaded image and visits each class that is not generic.
///
/// The Objective-C runtime can list its classes; Swift's runtime on Linux cannot, but it keeps the
/// records that the compiler emitted (documented in the Swift ABI, TypeMetadata: "nominal type descriptor").
void tarn_visit_classes(tarn_class_visitor visitor, void *context);

/// Takes a strong reference to a Swift object unless the last one is gone and the object is being destroyed.
///
/// The memory must still be the object's: its `deinit` has not returned. Weak references rest on the same function, but
/// cost a side table for each object.
bool tarn_retain_if_alive(const void *object);

#endif
