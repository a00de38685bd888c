/* rt_batch.h: walks a split in batches.
 *
 * The order of an epoch is a permutation that (seed, loop, entry, epoch) names, so the number of
 * batches given is the whole state: setting `round` resumes anywhere.
 */
#ifndef RT_BATCH_H
#define RT_BATCH_H

#include "rt_data.h"

struct rt_batches {
    const struct rt_rows *rows;
    int64_t batch;
    int64_t rounds;    /* batches in all */
    int64_t round;     /* batches given */
    int64_t per_epoch; /* batches in one epoch */
    bool shuffle;
    struct rt_place at; /* the loop, and how often it was entered */
    int64_t epoch;      /* whose key is held, -1 none */
    uint64_t key;
};

/* One batch of a walk: all that is needed to find its rows, in a form that can be copied. */
struct rt_walk {
    struct rt_rows rows;
    int64_t batch, per_epoch, round; /* this is batch number `round`, from 0 */
    bool shuffle;
    bool staged;        /* its rows lie one after the other, in two places that take turns */
    int64_t first;      /* staged: the row where the first of the places begins */
    struct rt_place at; /* `step` is the epoch's, and set by whoever reads this */
};

/* Begins a walk over `rows`. drop: rows that do not fill a batch are left out; else the last batch
 * is smaller. steps 0: one epoch; else that many batches over as many epochs as they take. `place`
 * and `entry` (how often the loop was entered) name the order. RT_USAGE: no rows, or under drop
 * fewer than a batch. */
RT_FN enum rt_status rt_batches_start(struct rt *rt, struct rt_batches *b,
                                      const struct rt_rows *rows, int64_t batch, bool shuffle,
                                      bool drop, int64_t steps, uint32_t place, uint32_t entry) {
    memset(b, 0, sizeof *b);
    b->rows = rows;
    b->batch = batch;
    b->per_epoch = drop ? rows->count / batch : (rows->count + batch - 1) / batch;
    b->rounds = steps ? steps : b->per_epoch;
    b->shuffle = shuffle;
    b->at.seed = rt->seed;
    b->at.count = entry;
    b->at.place = place;
    b->epoch = -1;
    if (rows->count == 0)
        return rt_fail(rt, RT_USAGE, "%s has no rows", rows->name);
    if (b->per_epoch == 0)
        return rt_fail(
            rt, RT_USAGE,
            "%s has %lld rows, fewer than a batch of %lld (last=\"keep\" takes them all the same)",
            rows->name, (long long)rows->count, (long long)batch);
    return RT_OK;
}

/* The row of the source at a position of the epoch whose key that is. */
RT_BOTH RT_HOT int32_t rt_batches_row(const struct rt_rows *rows, bool shuffle, uint64_t key,
                                      int64_t position) {
    uint64_t at = (uint64_t)position;
    if (shuffle)
        at = rt_permute(at, (uint64_t)rows->count, key);
    return (int32_t)rt_row(rows, (int64_t)at);
}

/* Fills index[0 … *count-1] with rows of the source (*count <= batch), unless index is NULL; false
 * when there are no more. */
RT_HOT bool rt_batches_next(struct rt_batches *b, int32_t *index, int64_t *count) {
    if (b->round >= b->rounds)
        return false;
    int64_t epoch = b->round / b->per_epoch, from = b->round % b->per_epoch * b->batch;
    int64_t left = b->rows->count - from, n = left < b->batch ? left : b->batch;
    if (epoch != b->epoch) {
        b->epoch = epoch;
        b->at.step = (uint32_t)epoch;
        b->key = rt_key(&b->at);
    }
    for (int64_t i = 0; index && i < n; i++)
        index[i] = rt_batches_row(b->rows, b->shuffle, b->key, from + i);
    *count = n;
    b->round++;
    return true;
}

/* The batch that rt_batches_next has just given. */
RT_HOT void rt_batches_now(const struct rt_batches *b, struct rt_walk *w) {
    w->rows = *b->rows;
    w->batch = b->batch;
    w->per_epoch = b->per_epoch;
    w->round = b->round - 1;
    w->shuffle = b->shuffle;
    w->at = b->at;
    w->at.step = 0;
}

/* Row i of a batch, 0 <= i < batch; past the last row of the epoch any row. */
RT_BOTH RT_HOT int32_t rt_walk_row(const struct rt_walk *w, int64_t i) {
    if (w->staged)
        return (int32_t)(w->first + (w->round & 1) * w->batch + i);
    struct rt_place at = w->at;
    int64_t position = w->round % w->per_epoch * w->batch + i;
    at.step = (uint32_t)(w->round / w->per_epoch);
    return rt_batches_row(&w->rows, w->shuffle, rt_key(&at),
                          position < w->rows.count ? position : 0);
}

#endif
