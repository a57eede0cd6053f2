// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#include "CStatementLog.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// SQLite's functions by their declarations: the system library's header is another package's module.
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_auto_extension(void (*entry)(void));
int sqlite3_trace_v2(sqlite3 *, unsigned mask, int (*callback)(unsigned, void *, void *, void *), void *context);
const char *sqlite3_db_filename(sqlite3 *, const char *schema);
const char *sqlite3_sql(sqlite3_stmt *);
int sqlite3_stmt_status(sqlite3_stmt *, int counter, int reset);
enum { TRACE_STMT = 1, TRACE_PROFILE = 2, STATUS_VM_STEP = 4 };

struct entry {
    char *path;
    char *text;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static long count, capacity;
static char *watched[64];
static int watched_count;
static int is_installed;
static FILE *file;
static struct { const char *part; long long count; } steps[64];
static int steps_count;
/// Hashes of path and text, by open addressing; 0 is free.
static unsigned long *seen;
static unsigned long seen_size, seen_count;

static unsigned long hash(const char *text, unsigned long value) {
    for (; *text; text++) value = (value ^ (unsigned char)*text) * 1099511628211ul;
    return value ? value : 1;
}

static int insert(unsigned long value) {
    if (seen_count * 2 >= seen_size) {
        unsigned long size = seen_size ? seen_size * 2 : 4096, *bigger = calloc(size, sizeof *bigger);
        for (unsigned long i = 0; i < seen_size; i++) {
            if (!seen[i]) continue;
            unsigned long place = seen[i] % size;
            while (bigger[place]) place = (place + 1) % size;
            bigger[place] = seen[i];
        }
        free(seen);
        seen = bigger;
        seen_size = size;
    }
    unsigned long place = value % seen_size;
    while (seen[place] && seen[place] != value) place = (place + 1) % seen_size;
    if (seen[place]) return 0;
    seen[place] = value;
    seen_count++;
    return 1;
}

static int traced(unsigned event, void *context, void *statement, void *text) {
    if (event == TRACE_PROFILE) {
        long long count = sqlite3_stmt_status(statement, STATUS_VM_STEP, 1);
        pthread_mutex_lock(&lock);
        for (int i = 0; i < steps_count; i++) {
            if (strstr(context, steps[i].part)) steps[i].count += count;
        }
        pthread_mutex_unlock(&lock);
        return 0;
    }
    // A trigger's statements are shown as comments.
    if (event != TRACE_STMT || !statement || (text && ((const char *)text)[0] == '-')) return 0;
    const char *sql = sqlite3_sql(statement), *path = context;
    if (!sql) return 0;
    pthread_mutex_lock(&lock);
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    // For the file of all statements a database is known by its name, since tests make many.
    if (insert(hash(sql, hash(watched_count ? path : name, 14695981039346656037ul)))) {
        if (watched_count) {
            if (count == capacity) {
                capacity = capacity ? capacity * 2 : 256;
                entries = realloc(entries, (size_t)capacity * sizeof *entries);
            }
            entries[count++] = (struct entry){(char *)path, strdup(sql)};
        }
        if (file) {
            fprintf(file, "%s\t", name);
            for (const char *at = sql; *at; at++) fputc(*at == '\n' ? ' ' : *at, file);
            fputc('\n', file);
            fflush(file);
        }
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

static int opened(sqlite3 *database, char **message, const void *api) {
    (void)message, (void)api;
    const char *path = sqlite3_db_filename(database, "main");
    if (!path || !*path) return 0;
    pthread_mutex_lock(&lock);
    int is_wanted = file != NULL;
    for (int i = 0; i < watched_count && !is_wanted; i++) is_wanted = strstr(path, watched[i]) != NULL;
    pthread_mutex_unlock(&lock);
    // The path stays with the connection's statements, which may be listed after it was closed.
    if (is_wanted) sqlite3_trace_v2(database, TRACE_STMT | TRACE_PROFILE, traced, strdup(path));
    return 0;
}

static void install(void) {
    if (!is_installed) sqlite3_auto_extension((void (*)(void))opened);
    is_installed = 1;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TARN_STATEMENTS");
    if (!path || !*path) return;
    file = fopen(path, "a");
    if (file) install();
}

void statement_log_watch(const char *part) {
    pthread_mutex_lock(&lock);
    if (watched_count < 64) {
        steps[steps_count++].part = watched[watched_count] = strdup(part);
        watched_count++;
    }
    pthread_mutex_unlock(&lock);
    install();
}

const char *statement_log_text(const char *part, long index) {
    const char *text = NULL;
    pthread_mutex_lock(&lock);
    for (long i = 0; i < count && !text; i++) {
        if (strstr(entries[i].path, part) && index-- == 0) text = entries[i].text;
    }
    pthread_mutex_unlock(&lock);
    return text;
}

long long statement_log_steps(const char *part) {
    long long count = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < steps_count; i++) {
        if (!strcmp(steps[i].part, part)) count = steps[i].count;
    }
    pthread_mutex_unlock(&lock);
    return count;
}
