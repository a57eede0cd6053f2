// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#include "CFaultyDisk.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// A SQLite VFS that hands everything to the system's, and fails where a test wants it to.
// Source: sqlite.org, "The SQLite OS Interface or VFS".

typedef struct {
    sqlite3_file base;
    // The plan that was made for its path when it was opened, or -1: the plan of another folder does not touch it.
    int plan;
    sqlite3_file *real;
} FaultyFile;

typedef struct {
    char prefix[1024];
    int operations, number, seen;
} Plan;

#define PLANS 256

static sqlite3_vfs *real_vfs;
static sqlite3_vfs faulty_vfs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// The first is the one that faulty_disk_plan makes.
static Plan plans[PLANS];

static int plan_of(const char *path) {
    int found = -1;
    pthread_mutex_lock(&lock);
    for (int i = 0; path != NULL && found < 0 && i < PLANS; i++) {
        if (plans[i].prefix[0] != 0 && strncmp(path, plans[i].prefix, strlen(plans[i].prefix)) == 0) found = i;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

// Whether this operation is the one that fails.
static int fails(int operation, int plan) {
    if (plan < 0) return 0;
    Plan *it = &plans[plan];
    pthread_mutex_lock(&lock);
    int result = 0;
    if ((it->operations & operation) != 0) {
        it->seen += 1;
        if (it->number > 0) result = it->seen == it->number;
        if (it->number < 0) result = it->seen >= -it->number;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

#define REAL(file) (((FaultyFile *)(file))->real)
#define PLAN(file) (((FaultyFile *)(file))->plan)

static int x_close(sqlite3_file *file) {
    int code = REAL(file)->pMethods->xClose(REAL(file));
    free(REAL(file));
    return code;
}
static int x_read(sqlite3_file *file, void *buffer, int count, sqlite3_int64 offset) {
    return REAL(file)->pMethods->xRead(REAL(file), buffer, count, offset);
}
static int x_write(sqlite3_file *file, const void *buffer, int count, sqlite3_int64 offset) {
    if (PLAN(file) >= 0) {
        sqlite3_int64 size = 0;
        REAL(file)->pMethods->xFileSize(REAL(file), &size);
        if (offset + count > size && fails(FaultyDiskGrowth, PLAN(file))) return SQLITE_FULL;
        if (fails(FaultyDiskWrite, PLAN(file))) {
            // A torn write: half of it reached the disk.
            REAL(file)->pMethods->xWrite(REAL(file), buffer, count / 2, offset);
            return SQLITE_IOERR_WRITE;
        }
    }
    return REAL(file)->pMethods->xWrite(REAL(file), buffer, count, offset);
}
static int x_truncate(sqlite3_file *file, sqlite3_int64 size) {
    if (fails(FaultyDiskTruncate, PLAN(file))) return SQLITE_IOERR_TRUNCATE;
    return REAL(file)->pMethods->xTruncate(REAL(file), size);
}
static int x_sync(sqlite3_file *file, int flags) {
    if (fails(FaultyDiskSync, PLAN(file))) return SQLITE_IOERR_FSYNC;
    return REAL(file)->pMethods->xSync(REAL(file), flags);
}
static int x_file_size(sqlite3_file *file, sqlite3_int64 *size) { return REAL(file)->pMethods->xFileSize(REAL(file), size); }
static int x_lock(sqlite3_file *file, int level) { return REAL(file)->pMethods->xLock(REAL(file), level); }
static int x_unlock(sqlite3_file *file, int level) { return REAL(file)->pMethods->xUnlock(REAL(file), level); }
static int x_check_reserved(sqlite3_file *file, int *out) { return REAL(file)->pMethods->xCheckReservedLock(REAL(file), out); }
static int x_control(sqlite3_file *file, int op, void *arg) { return REAL(file)->pMethods->xFileControl(REAL(file), op, arg); }
static int x_sector_size(sqlite3_file *file) { return REAL(file)->pMethods->xSectorSize(REAL(file)); }
static int x_characteristics(sqlite3_file *file) { return REAL(file)->pMethods->xDeviceCharacteristics(REAL(file)); }
static int x_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out) {
    return REAL(file)->pMethods->xShmMap(REAL(file), page, size, extend, out);
}
static int x_shm_lock(sqlite3_file *file, int offset, int n, int flags) {
    return REAL(file)->pMethods->xShmLock(REAL(file), offset, n, flags);
}
static void x_shm_barrier(sqlite3_file *file) { REAL(file)->pMethods->xShmBarrier(REAL(file)); }
static int x_shm_unmap(sqlite3_file *file, int delete) { return REAL(file)->pMethods->xShmUnmap(REAL(file), delete); }

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = x_close,
    .xRead = x_read,
    .xWrite = x_write,
    .xTruncate = x_truncate,
    .xSync = x_sync,
    .xFileSize = x_file_size,
    .xLock = x_lock,
    .xUnlock = x_unlock,
    .xCheckReservedLock = x_check_reserved,
    .xFileControl = x_control,
    .xSectorSize = x_sector_size,
    .xDeviceCharacteristics = x_characteristics,
    .xShmMap = x_shm_map,
    .xShmLock = x_shm_lock,
    .xShmBarrier = x_shm_barrier,
    .xShmUnmap = x_shm_unmap,
};

static int x_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out) {
    (void)vfs;
    FaultyFile *faulty = (FaultyFile *)file;
    memset(faulty, 0, sizeof(*faulty));
    sqlite3_file *real = calloc(1, (size_t)real_vfs->szOsFile);
    if (real == NULL) return SQLITE_NOMEM;
    int code = real_vfs->xOpen(real_vfs, path, real, flags, out);
    if (code != SQLITE_OK) {
        free(real);
        return code;
    }
    faulty->real = real;
    faulty->plan = plan_of(path);
    faulty->base.pMethods = &methods;
    return SQLITE_OK;
}
static int x_delete(sqlite3_vfs *vfs, const char *path, int sync) {
    (void)vfs;
    if (fails(FaultyDiskDelete, plan_of(path))) return SQLITE_IOERR_DELETE;
    return real_vfs->xDelete(real_vfs, path, sync);
}

void faulty_disk_install(void) {
    pthread_mutex_lock(&lock);
    int is_first = real_vfs == NULL;
    if (is_first) real_vfs = sqlite3_vfs_find(NULL);
    pthread_mutex_unlock(&lock);
    if (!is_first) return;
    faulty_vfs = *real_vfs;
    faulty_vfs.pNext = NULL;
    faulty_vfs.zName = "faulty";
    faulty_vfs.szOsFile = (int)sizeof(FaultyFile);
    faulty_vfs.xOpen = x_open;
    faulty_vfs.xDelete = x_delete;
    sqlite3_vfs_register(&faulty_vfs, 1);
}

static void make(Plan *plan, const char *text, int operations, int n) {
    strncpy(plan->prefix, text, sizeof(plan->prefix) - 1);
    plan->operations = operations;
    plan->number = n;
    plan->seen = 0;
}

void faulty_disk_plan(const char *text, int operations, int n) {
    pthread_mutex_lock(&lock);
    make(&plans[0], text, operations, n);
    pthread_mutex_unlock(&lock);
}

static int count_of(int plan) {
    pthread_mutex_lock(&lock);
    int count = plans[plan].seen;
    pthread_mutex_unlock(&lock);
    return count;
}

int faulty_disk_count(void) { return count_of(0); }

static void clear(int plan) {
    pthread_mutex_lock(&lock);
    memset(&plans[plan], 0, sizeof(plans[plan]));
    pthread_mutex_unlock(&lock);
}

void faulty_disk_clear(void) { clear(0); }

int faulty_disk_add(const char *text) {
    int found = -1;
    pthread_mutex_lock(&lock);
    for (int i = 1; found < 0 && i < PLANS; i++) {
        if (plans[i].prefix[0] == 0) found = i;
    }
    if (found > 0) make(&plans[found], text, 0, 0);
    pthread_mutex_unlock(&lock);
    return found;
}

void faulty_disk_change(int plan, int operations, int n) {
    pthread_mutex_lock(&lock);
    plans[plan].operations = operations;
    plans[plan].number = n;
    plans[plan].seen = 0;
    pthread_mutex_unlock(&lock);
}

int faulty_disk_count_of(int plan) { return count_of(plan); }

void faulty_disk_remove(int plan) { clear(plan); }
