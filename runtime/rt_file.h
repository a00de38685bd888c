/* rt_file.h: whole files in memory, .gz inflated, and files written so that they are never half
 * there.
 *
 * A file is kept in rt->files until rt_files_drop, so that two fields of one file read it once.
 */
#ifndef RT_FILE_H
#define RT_FILE_H

#include "rt_array.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#ifdef RT_GZ
#include <zlib.h>
#endif

struct rt_file {
    struct rt_file *next;
    char *path;
    char *text; /* the bytes, inflated; text[size] is 0 */
    size_t size;
};

/* The path without its folders. */
RT_FN const char *rt_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

RT_FN enum rt_status rt_read_fd(struct rt *rt, int fd, const char *path, char **text,
                                size_t *size) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return rt_fail(rt, RT_ENV, "cannot read '%s': %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return rt_fail(rt, RT_ENV, "cannot read '%s': not a file", path);
    size_t n = (size_t)st.st_size, done = 0;
    char *bytes = (char *)rt->alloc(rt, n + 1);
    if (!bytes)
        return rt_fail(rt, RT_ENV, "no memory for '%s' (%zu bytes)", path, n);
    while (done < n) {
        ssize_t got = read(fd, bytes + done, n - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            rt->release(rt, bytes);
            return rt_fail(rt, RT_ENV, "cannot read '%s': %s", path,
                           got < 0 ? strerror(errno) : "it became shorter");
        }
        done += (size_t)got;
    }
    bytes[n] = 0;
    *text = bytes;
    *size = n;
    return RT_OK;
}

#ifdef RT_GZ
/* Doubles the room of an inflated text. */
RT_FN bool rt_gz_grow(struct rt *rt, char **out, size_t *room, size_t used) {
    size_t more = *room > (size_t)PTRDIFF_MAX / 2 ? 0 : *room * 2;
    char *bigger = more ? (char *)rt->alloc(rt, more + 1) : NULL;
    if (!bigger)
        return false;
    memcpy(bigger, *out, used);
    rt->release(rt, *out);
    *out = bigger;
    *room = more;
    return true;
}

/* Inflates into *out, growing it; Z_STREAM_END when all members were whole. */
RT_FN int rt_gz_run(struct rt *rt, z_stream *z, char **out, size_t *room, size_t *used) {
    int state = Z_OK;
    while (state == Z_OK) {
        if (*used == *room && !rt_gz_grow(rt, out, room, *used))
            return Z_MEM_ERROR;
        size_t space = *room - *used < UINT_MAX ? *room - *used : UINT_MAX;
        z->next_out = (unsigned char *)*out + *used;
        z->avail_out = (unsigned)space;
        state = inflate(z, Z_NO_FLUSH);
        *used += space - z->avail_out;
        if (state == Z_BUF_ERROR && z->avail_out == 0)
            state = Z_OK;
        if (state == Z_STREAM_END && z->avail_in > 0)
            state = inflateReset(z); /* another member follows */
    }
    return state;
}

RT_FN enum rt_status rt_inflate(struct rt *rt, const char *path, char **text, size_t *size) {
    size_t room = *size < 1024 ? 4096 : *size * 4, used = 0;
    if (*size > UINT_MAX)
        return rt_fail(rt, RT_USAGE, "'%s': gzip files over 4 GB are not read", path);
    char *out = (char *)rt->alloc(rt, room + 1);
    z_stream z;
    memset(&z, 0, sizeof z);
    if (!out || inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) {
        rt->release(rt, out);
        return rt_fail(rt, RT_ENV, "no memory to inflate '%s'", path);
    }
    z.next_in = (unsigned char *)*text;
    z.avail_in = (unsigned)*size;
    int state = rt_gz_run(rt, &z, &out, &room, &used);
    inflateEnd(&z);
    if (state != Z_STREAM_END) {
        rt->release(rt, out);
        if (state == Z_MEM_ERROR)
            return rt_fail(rt, RT_ENV, "no memory to inflate '%s'", path);
        return rt_fail(rt, RT_USAGE, "'%s' is not a whole gzip file: it is %s", path,
                       state == Z_BUF_ERROR ? "cut short" : "damaged");
    }
    rt->release(rt, *text);
    out[used] = 0;
    *text = out;
    *size = used;
    return RT_OK;
}
#else
RT_FN enum rt_status rt_inflate(struct rt *rt, const char *path, char **text, size_t *size) {
    (void)text, (void)size;
    return rt_fail(rt, RT_USAGE,
                   "'%s' is a gzip file, and this trainer was compiled without -DRT_GZ", path);
}
#endif

/* Reads a file, inflated when its first bytes say gzip. RT_ENV: it cannot be opened or read, or
 * there is no memory. RT_USAGE: broken gzip. */
RT_FN enum rt_status rt_file_read(struct rt *rt, const char *path, char **text, size_t *size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return rt_fail(rt, RT_ENV, "cannot open '%s': %s", path, strerror(errno));
    enum rt_status s = rt_read_fd(rt, fd, path, text, size);
    close(fd);
    if (s || *size < 2 || memcmp(*text, "\x1f\x8b", 2) != 0)
        return s;
    s = rt_inflate(rt, path, text, size);
    if (s)
        rt->release(rt, *text);
    return s;
}

/* The file at `path`, read now or before. Errors as rt_file_read. */
RT_FN enum rt_status rt_file_get(struct rt *rt, const char *path, const struct rt_file **file) {
    for (struct rt_file *f = rt->files; f; f = f->next) {
        if (strcmp(f->path, path) == 0) {
            *file = f;
            return RT_OK;
        }
    }
    size_t name = strlen(path) + 1;
    struct rt_file *f = (struct rt_file *)rt->alloc(rt, sizeof *f + name);
    if (!f)
        return rt_fail(rt, RT_ENV, "no memory for '%s'", path);
    f->path = (char *)(f + 1);
    memcpy(f->path, path, name);
    enum rt_status s = rt_file_read(rt, path, &f->text, &f->size);
    if (s) {
        rt->release(rt, f);
        return s;
    }
    f->next = rt->files;
    rt->files = f;
    *file = f;
    return RT_OK;
}

/* Do two paths lead to one file? */
RT_FN bool rt_same_file(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* Does the path lead to a file that is in memory? */
RT_FN bool rt_file_held(const struct rt *rt, const char *path) {
    for (const struct rt_file *f = rt->files; f; f = f->next)
        if (rt_same_file(f->path, path))
            return true;
    return false;
}

/* Releases all files; call when every source is read. */
RT_FN void rt_files_drop(struct rt *rt) {
    while (rt->files) {
        struct rt_file *f = rt->files;
        rt->files = f->next;
        rt->release(rt, f->text);
        rt->release(rt, f);
    }
}

/* ---- writing ----------------------------------------------------------------------------------
 */

/* Under a temporary name until it is whole: whatever happens, the old file or the new one is there.
 * What is there and no file (/dev/stdout, a pipe) is written to as it is. */
struct rt_out {
    struct rt *rt;
    const char *path;
    char temporary[4096];
    bool direct; /* no temporary name */
    int fd;      /* -1 after an error */
    int error;
};

/* The folder that the path leads to; false when its name is too long. */
RT_FN bool rt_folder_of(const char *path, char *out, size_t room) {
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + (slash == path) : 1;
    if (n >= room)
        return false;
    memcpy(out, slash ? path : ".", n);
    out[n] = 0;
    return true;
}

/* Why a file cannot be made there, by errno. */
RT_FN enum rt_status rt_out_fail(struct rt *rt, const char *path) {
    char folder[4096];
    int why = errno;
    if (why == ENOENT && *path && rt_folder_of(path, folder, sizeof folder) &&
        access(folder, F_OK) != 0)
        return rt_fail(rt, RT_ENV, "cannot write '%s': there is no folder '%s'", path, folder);
    return rt_fail(rt, RT_ENV, "cannot write '%s': %s", path, strerror(why));
}

RT_FN enum rt_status rt_out_open(struct rt_out *out, struct rt *rt, const char *path) {
    out->rt = rt;
    out->path = path;
    out->error = 0;
    struct stat st;
    out->direct = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    int n = out->direct ? snprintf(out->temporary, sizeof out->temporary, "%s", path)
                        : snprintf(out->temporary, sizeof out->temporary, "%s.%ld.tmp", path,
                                   (long)getpid());
    if (n < 0 || (size_t)n >= sizeof out->temporary)
        return rt_fail(rt, RT_ENV, "cannot write '%.200s…': the name is too long", path);
    errno = ENOENT; /* no name gives a temporary one */
    out->fd = *path ? open(out->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    return out->fd < 0 ? rt_out_fail(rt, path) : RT_OK;
}

/* Looks whether rt_out_open will do, before the work whose result goes there; nothing stays. */
RT_FN enum rt_status rt_out_check(struct rt *rt, const char *path) {
    struct stat st;
    struct rt_out out;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        if (S_ISDIR(st.st_mode))
            return rt_fail(rt, RT_ENV, "cannot write '%s': it is a folder", path);
        return access(path, W_OK) == 0 ? RT_OK : rt_out_fail(rt, path);
    }
    enum rt_status s = rt_out_open(&out, rt, path);
    if (s)
        return s;
    close(out.fd);
    unlink(out.temporary);
    return RT_OK;
}

/* An error is kept for rt_out_close. */
RT_FN void rt_out_write(struct rt_out *out, const void *bytes, size_t n) {
    const char *from = (const char *)bytes;
    while (n > 0 && !out->error) {
        ssize_t done = write(out->fd, from, n < (1u << 30) ? n : 1u << 30);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            out->error = errno;
            return;
        }
        from += done;
        n -= (size_t)done;
    }
}

/* The folder's entry must be on disk too before the new name counts. */
RT_FN void rt_sync_folder(const char *path) {
    char folder[4096];
    int fd = rt_folder_of(path, folder, sizeof folder) ? open(folder, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

/* Syncs and gives the file its name; after an error the temporary file is gone and the old one
 * stays. */
RT_FN enum rt_status rt_out_close(struct rt_out *out) {
    if (!out->error && !out->direct && fsync(out->fd) != 0)
        out->error = errno;
    if (close(out->fd) != 0 && !out->error)
        out->error = errno;
    if (!out->error && !out->direct && rename(out->temporary, out->path) != 0)
        out->error = errno;
    if (out->error) {
        if (!out->direct)
            unlink(out->temporary);
        return rt_fail(out->rt, RT_ENV, "cannot write '%s': %s", out->path, strerror(out->error));
    }
    if (!out->direct)
        rt_sync_folder(out->path);
    return RT_OK;
}

#endif
