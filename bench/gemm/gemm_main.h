/* gemm_main.h: times the contractions of a file that gen_dot wrote, beside the multiply-add peak.
 *
 * Peak and kernels are measured in turn, in one process, with one thread and with two; the table gives
 * lower quartiles of the times (neighbours of this process only add to them), and the share of the peak
 * measured beside them. One thread is timed by the processor time it took, two by the clock. The peak loop keeps twelve chains of eight
 * lanes in registers; an empty statement of the assembler after each step keeps the compiler from
 * changing it.
 */
#include <sys/mman.h>

enum { ROUNDS = 31, PEAK_STEPS = 40000, CHAINS = 12 };

struct job {
    struct nn *nn;
    struct rt_team *team;
    const struct dot_case *c;
    int n, repeats;
};

static void run_job(void *arg, int t) {
    const struct job *job = (const struct job *)arg;
    for (int i = 0; i < job->repeats; i++) {
        job->c->run(job->nn, job->team, t, job->n);
        rt_barrier(job->team, t);
    }
}

static float peak_loop(int steps) {
    const v8 x = bc8(0.999f), y = bc8(0.001f);
#define PEAK_ALL(STEP)                                                                             \
    STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5)                                                \
    STEP(6) STEP(7) STEP(8) STEP(9) STEP(10) STEP(11)
#define PEAK_START(i) v8 a##i = bc8((float)i);
#define PEAK_STEP(i)                                                                               \
    a##i = fma8(a##i, x, y);                                                                       \
    __asm__ volatile("" : "+x"(a##i));
    PEAK_ALL(PEAK_START)
    for (int k = 0; k < steps; k++) {
        PEAK_ALL(PEAK_STEP)
    }
    v8 sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
    return sum[0];
}

static volatile float sink;

static void peak_job(void *arg, int t) {
    (void)arg, (void)t;
    sink = peak_loop(PEAK_STEPS);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quartile(double *x, int n) {
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 4];
}

static double now(int threads) {
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* GFLOP/s of the case and of the peak beside it. */
static double measure(struct nn *nn, struct rt_team *team, const struct dot_case *c, double *peak) {
    double flops = 2.0 * (double)c->b * (double)c->m * (double)c->n * (double)c->k;
    struct job job = {nn, team, c, team->n, 1 + (int)(2e8 / flops)};
    double time[ROUNDS], peak_time[ROUNDS];
    for (int i = -2; i < ROUNDS; i++) {
        double start = now(team->n);
        rt_team_run(team, peak_job, NULL);
        double middle = now(team->n);
        rt_team_run(team, run_job, &job);
        double end = now(team->n);
        if (i >= 0) {
            peak_time[i] = middle - start;
            time[i] = (end - middle) / job.repeats;
        }
    }
    *peak = team->n * 2.0 * 8 * CHAINS * PEAK_STEPS / quartile(peak_time, ROUNDS) * 1e-9;
    return flops / quartile(time, ROUNDS) * 1e-9;
}

static void fill(struct nn *nn) {
    float *x = (float *)(void *)nn->arena;
    for (int64_t i = 0; i < ARENA / 4; i++)
        x[i] = (float)((i * 7919) % 2003) * (1.0f / 2003) - 0.5f;
}

#include "rt_end.h"

int main(int argc, char **argv) {
    static struct nn nn;
    static struct rt_team team[2];
    const size_t huge = (size_t)2 << 20;
    nn.arena = (unsigned char *)aligned_alloc(huge, (ARENA + huge) / huge * huge);
    if (!nn.arena)
        return 2;
    madvise(nn.arena, ARENA, MADV_HUGEPAGE);
    rt_init(&nn.rt);
    for (int i = 0; i < 2; i++) {
        void *memory = aligned_alloc(64, rt_team_bytes(i + 1));
        if (!memory || rt_team_start(&nn.rt, &team[i], i + 1, memory))
            return 2;
    }
    fill(&nn);
    const char *only = argc > 1 ? argv[1] : "";
    int most = argc > 2 && strcmp(argv[2], "1") == 0 ? 1 : 2; /* threads */
    printf("GFLOP/s (share of the peak beside it); W: the right operand lies in panels\n");
    printf("%5s %5s %5s          1 thread        2 threads\n", "m", "n", "k");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct dot_case *c = &cases[i];
        char name[64];
        snprintf(name, sizeof name, "%5d %5d %5d %c%c %s", (int)c->m, (int)c->n, (int)c->k,
                 c->ta ? 'T' : 'N', c->tb ? 'T' : 'N', c->panels ? "W" : " ");
        if (!strstr(name, only))
            continue;
        printf("%s", name);
        for (int t = 0; t < most; t++) {
            double peak, rate = measure(&nn, &team[t], c, &peak);
            printf("    %6.1f (%3.0f %%)", rate, 100 * rate / peak);
        }
        printf("\n");
        fflush(stdout);
    }
    for (int i = 0; i < 2; i++)
        rt_team_stop(&team[i]);
    return 0;
}
