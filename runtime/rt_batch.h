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

/* Fills index[0 … *count-1] with rows of the source (*count <= batch); false when there are no
 * more. */
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
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)(from + i);
        if (b->shuffle)
            at = rt_permute(at, (uint64_t)b->rows->count, b->key);
        index[i] = (int32_t)rt_row(b->rows, (int64_t)at);
    }
    *count = n;
    b->round++;
    return true;
}

#endif
