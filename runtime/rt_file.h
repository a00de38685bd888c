/* rt_file.h: whole files in memory, .gz read transparently. */
#ifndef RT_FILE_H
#define RT_FILE_H
#include "rt_text.h"

/* A file in memory; data[size] is 0. Kept in rt->files, so that two fields of one file read it once. */
struct rt_file {
    struct rt_file *next;
    const char *path;
    const char *text; /* the inflated bytes */
    size_t size;
};
/* RT_ENV: cannot be opened or read, no memory; RT_USAGE: broken or truncated gzip. */
RT_FN enum rt_status rt_file_get(struct rt *rt, const char *path, const struct rt_file **file);
/* Releases all files; call when every source is read. */
RT_FN void rt_files_drop(struct rt *rt);
/* Writes to path.tmp, syncs, renames: after a crash the old file or the new one is there whole. */
struct rt_out {
    struct rt *rt;
    int fd;
    const char *path;
};
#endif
