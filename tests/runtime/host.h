/* host.h: the hooks that a generated main gives the runtime, for the tests: memory from malloc,
 * counted; what is written is kept. */
#ifndef TEST_HOST_H
#define TEST_HOST_H

#include "rt_base.h"

struct host {
    struct rt rt;
    int live;           /* allocations not released */
    size_t limit;       /* larger requests fail; 0: none do */
    char out[2][65536]; /* what went to streams 1 and 2 */
    size_t size[2];
};

RT_FN void *host_alloc(struct rt *rt, size_t bytes) {
    struct host *h = (struct host *)rt;
    if (h->limit && bytes > h->limit)
        return NULL;
    void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (p) {
        memset(p, 0xa5, bytes);
        h->live++;
    }
    return p;
}

RT_FN void host_release(struct rt *rt, void *memory) {
    ((struct host *)rt)->live -= memory != NULL;
    free(memory);
}

RT_FN void host_write(struct rt *rt, int stream, const char *text, size_t n) {
    struct host *h = (struct host *)rt;
    int s = stream - 1;
    size_t room = sizeof h->out[s] - 1 - h->size[s];
    if (n > room)
        n = room;
    memcpy(h->out[s] + h->size[s], text, n);
    h->size[s] += n;
    h->out[s][h->size[s]] = 0;
}

RT_FN struct rt *host_init(struct host *h) {
    h->live = 0;
    h->limit = 0;
    h->size[0] = h->size[1] = 0;
    h->out[0][0] = h->out[1][0] = 0;
    h->rt.alloc = host_alloc;
    h->rt.release = host_release;
    h->rt.write = host_write;
    h->rt.host = NULL;
    rt_init(&h->rt);
    return &h->rt;
}

/* Makes a folder of its own under /tmp and gives its name. */
RT_FN bool host_folder(char out[64], const char *name) {
    int n = snprintf(out, 64, "/tmp/nnc-%s-", name);
    if (n < 0 || n > 50)
        return false;
    memset(out + n, 'X', 6);
    out[n + 6] = 0;
    return mkdtemp(out) != NULL;
}

#endif
