// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#include "CRuntimeRecords.h"

#include <stddef.h>

struct range { uintptr_t start; size_t length; };

// The leading part of the runtime's own description of an image's sections.
struct sections {
    uintptr_t version;
    const void *base;
    void *unused[2];
    struct range protocols, conformances, types;
};

extern void swift_enumerateAllMetadataSections(bool (*body)(const struct sections *, void *), void *context);

enum {
    kind_mask = 0x1f,
    kind_module = 0,
    kind_class = 16,
    flag_generic = 0x80,
};

struct walk { tarn_class_visitor visitor; void *context; };

static const char *relative(const int32_t *field) {
    return *field ? (const char *)field + *field : NULL;
}

// A record points to its descriptor directly, or through one more pointer when the low bit is set.
static const char *descriptor_of(const int32_t *record) {
    int32_t offset = *record;
    if (!offset) return NULL;
    const char *target = (const char *)record + (offset & ~3);
    switch (offset & 3) {
    case 0: return target;
    case 1: return *(const char *const *)target;
    default: return NULL;
    }
}

static const char *parent_of(const char *descriptor) {
    const int32_t *field = (const int32_t *)(descriptor + 4);
    if (!*field) return NULL;
    const char *target = (const char *)field + (*field & ~1);
    return (*field & 1) ? *(const char *const *)target : target;
}

static const char *module_of(const char *descriptor) {
    for (const char *context = parent_of(descriptor); context; context = parent_of(context))
        if ((*(const uint32_t *)context & kind_mask) == kind_module) return relative((const int32_t *)(context + 8));
    return NULL;
}

static bool visit_image(const struct sections *image, void *context) {
    struct walk *walk = context;
    const int32_t *record = (const int32_t *)image->types.start;
    const int32_t *end = (const int32_t *)(image->types.start + image->types.length);
    for (; record && record < end; record++) {
        const char *descriptor = descriptor_of(record);
        if (!descriptor) continue;
        uint32_t flags = *(const uint32_t *)descriptor;
        if ((flags & kind_mask) != kind_class || (flags & flag_generic)) continue;
        const char *name = relative((const int32_t *)(descriptor + 8));
        const char *module = module_of(descriptor);
        const void *(*metadata)(uintptr_t) = (const void *(*)(uintptr_t))relative((const int32_t *)(descriptor + 12));
        if (name && module && metadata && !walk->visitor(module, name, metadata, walk->context)) return false;
    }
    return true;
}

void tarn_visit_classes(tarn_class_visitor visitor, void *context) {
    struct walk walk = { visitor, context };
    swift_enumerateAllMetadataSections(visit_image, &walk);
}

extern void *swift_tryRetain(void *object);

bool tarn_retain_if_alive(const void *object) { return swift_tryRetain((void *)object) != NULL; }
