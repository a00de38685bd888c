/* dot_check.h: runs every contraction of a file that gen_dot wrote, and compares bits.
 *
 * The reference is one chain of fused multiply-adds for each result, k ascending, then the epilogue on
 * one number: whatever the tiles, threads and layouts are, the results have these bits. Against sums
 * in double the error must stay below the bound of such a chain. Run with 1, 2 and 7 threads.
 * Prints one line a difference; exit code 1 when there was one.
 */
enum { RELU = 1, TANH = 2, UPDATE = 3, MASK = 4, MOST_THREADS = 7 };

static uint32_t noise = 1;

static float random_number(void) {
    noise = noise * 1664525u + 1013904223u;
    return (float)((int32_t)noise >> 8) * (1.0f / 8388608.0f);
}

static float *at(struct nn *nn, int64_t offset) {
    return (float *)(void *)(nn->arena + offset);
}

/* Place of (b, row, column) of a [b, rows, columns] array. */
static int64_t place(int64_t b, int64_t row, int64_t column, int64_t rows, int64_t columns,
                     int panels) {
    if (panels)
        return (column / 16 * rows + row) * 16 + column % 16;
    return (b * rows + row) * columns + column;
}

static float left_of(struct nn *nn, const struct dot_case *c, int64_t b, int64_t i, int64_t k) {
    const float *x = at(nn, c->left);
    return c->ta ? x[place(b, k, i, c->k, c->m, 0)] : x[place(b, i, k, c->m, c->k, 0)];
}

static float right_of(struct nn *nn, const struct dot_case *c, int64_t b, int64_t k, int64_t j) {
    const float *x = at(nn, c->right);
    return c->tb ? x[place(b, j, k, c->n, c->k, c->panels)]
                 : x[place(b, k, j, c->k, c->n, c->panels)];
}

static float finish(struct nn *nn, const struct dot_case *c, float sum, int64_t j, float old) {
    switch (c->epilogue) {
    case RELU:
        return rt_maxf(sum + at(nn, c->bias)[j], 0.0f);
    case TANH:
        return tanh_1(sum + at(nn, c->bias)[j]);
    case UPDATE:
        return old - 0.5f * sum;
    case MASK:
        return old > 0.0f ? sum : 0.0f;
    default:
        return sum;
    }
}

static bool same_bits(float x, float y) {
    return memcmp(&x, &y, sizeof x) == 0;
}

static int compare(struct nn *nn, const struct dot_case *c, int64_t e, int64_t k_run,
                   const float *before) {
    int64_t j = e % c->n, i = e / c->n % c->m, b = e / c->n / c->m;
    float sum = 0;
    double exact = 0, size = 0;
    for (int64_t k = 0; k < k_run; k++) {
        float x = left_of(nn, c, b, i, k), y = right_of(nn, c, b, k, j);
        sum = rt_fmaf(x, y, sum);
        exact += (double)x * y;
        size += fabs((double)x * y);
    }
    float want = finish(nn, c, sum, j, c->old >= 0 ? before[c->old / 4 + e] : 0);
    int bad = !same_bits(want, at(nn, c->out)[e]);
    if (c->pre >= 0)
        bad |= !same_bits(sum + at(nn, c->bias)[j], at(nn, c->pre)[e]);
    bad |= fabs(sum - exact) > 4 * 6e-8 * sqrt((double)k_run) * size;
    return bad;
}

struct job {
    struct nn *nn;
    struct rt_team *team;
    const struct dot_case *c;
    int n;
};

static void run_job(void *arg, int t) {
    const struct job *job = (const struct job *)arg;
    job->c->run(job->nn, job->team, t, job->n);
}

static int check_case(struct nn *nn, struct rt_team *team, const struct dot_case *c, int n,
                      float *before) {
    int64_t count = (c->few_m ? c->m : c->k) * 2 / 3 + 1, m = c->few_m ? count : c->m;
    int64_t k_run = c->few_k ? count : c->k;
    memcpy((char *)nn + c->count, &count, sizeof count);
    for (int64_t i = 0; i < ARENA / 4; i++)
        at(nn, 0)[i] = random_number();
    memcpy(before, nn->arena, ARENA);
    struct job job = {nn, team, c, n};
    rt_team_run(team, run_job, &job);
    int64_t all = c->b * c->m * c->n, step = all > 6000 ? 37 : 1;
    for (int64_t e = 0; e < all; e += step) {
        bool inside = e / c->n % c->m < m;
        if (inside && compare(nn, c, e, k_run, before)) {
            printf("case%d [%lld,%lld,%lld] x [%lld] ta %d tb %d epilogue %d panels %d few %d %d: ",
                   (int)(c - cases), (long long)c->b, (long long)c->m, (long long)c->n,
                   (long long)c->k, c->ta, c->tb, c->epilogue, c->panels, c->few_m, c->few_k);
            printf("element %lld differs, %d threads\n", (long long)e, n);
            return 1;
        }
        /* rows past the count of a value kept in place stay */
        if (!inside && !same_bits(before[c->out / 4 + e], at(nn, c->out)[e])) {
            printf("case%d writes past the count\n", (int)(c - cases));
            return 1;
        }
    }
    return 0;
}

#include "rt_end.h"

int main(void) {
    static struct nn nn;
    static struct rt_team team;
    const int threads[] = {1, 2, MOST_THREADS};
    int bad = 0, all = (int)(sizeof cases / sizeof *cases);
    void *memory = aligned_alloc(64, rt_team_bytes(MOST_THREADS));
    nn.arena = (unsigned char *)aligned_alloc(64, ARENA + 64);
    float *before = (float *)malloc(ARENA);
    if (!memory || !nn.arena || !before)
        return 2;
    for (int i = 0; i < 3; i++) {
        rt_init(&nn.rt);
        if (rt_team_start(&nn.rt, &team, threads[i], memory))
            return 2;
        for (int c = 0; c < all; c++)
            bad += check_case(&nn, &team, &cases[c], threads[i], before);
        rt_team_stop(&team);
    }
    free(before);
    free(nn.arena);
    free(memory);
    printf("%d contractions, %d differences\n", all, bad);
    return bad != 0;
}
