/* test_team.c: all threads run, barriers order their writes, at more threads than cores too. */
#define _GNU_SOURCE 1
#include <criterion/criterion.h>

#include "host.h"
#include "rt_team.h"

enum { MAX = 16, ROUNDS = 2000 };

struct shared {
    struct rt_team *team;
    int64_t cell[MAX]; /* each thread writes its own and reads all, barriers between */
    int64_t wrong[MAX];
    int64_t runs[MAX];
};

static void rounds(void *arg, int thread) {
    struct shared *s = (struct shared *)arg;
    int n = s->team->n;
    s->runs[thread]++;
    for (int64_t r = 1; r <= ROUNDS; r++) {
        s->cell[thread] = r * (thread + 1);
        rt_barrier(s->team, thread);
        for (int t = 0; t < n; t++)
            s->wrong[thread] += s->cell[t] != r * (t + 1);
        rt_barrier(s->team, thread);
    }
}

static void count(void *arg, int thread) {
    ((struct shared *)arg)->runs[thread]++;
}

static void with_threads(int n) {
    static struct host h; /* large: not on the stack */
    struct rt *rt = host_init(&h);
    struct rt_team team;
    void *memory = rt->alloc(rt, rt_team_bytes(n));
    cr_assert_eq(rt_team_start(rt, &team, n, memory), RT_OK);
    cr_assert_eq(team.n, n);
    struct shared s;
    memset(&s, 0, sizeof s);
    s.team = &team;
    rt_team_run(&team, rounds, &s);
    for (int i = 0; i < 500; i++)
        rt_team_run(&team, count, &s);
    rt_team_run(&team, rounds, &s);
    for (int t = 0; t < n; t++) {
        cr_expect_eq(s.wrong[t], 0, "thread %d of %d read a stale value", t, n);
        cr_expect_eq(s.runs[t], 502);
    }
    rt_team_stop(&team);
    rt->release(rt, memory);
    cr_expect_eq(h.live, 0);
}

Test(team, one) {
    with_threads(1);
}

Test(team, two) {
    with_threads(2);
}

Test(team, seven) {
    with_threads(7);
}

Test(team, parts_cover_all_tiles_once) {
    for (int64_t T = 0; T < 40; T++) {
        for (int n = 1; n < 12; n++) {
            int64_t lo, hi, at = 0;
            for (int t = 0; t < n; t++) {
                rt_part(T, t, n, &lo, &hi);
                cr_expect_eq(lo, at);
                cr_expect_geq(hi, lo);
                at = hi;
            }
            cr_expect_eq(at, T);
        }
    }
}

static void sleep_then_count(void *arg, int thread) {
    struct timespec pause = {0, 3000000};
    if (thread == 0)
        nanosleep(&pause, NULL); /* the others fall asleep at the barrier */
    rt_barrier(((struct shared *)arg)->team, thread);
    ((struct shared *)arg)->runs[thread]++;
}

Test(team, sleepers_are_woken) {
    static struct host h;
    struct rt *rt = host_init(&h);
    struct rt_team team;
    void *memory = rt->alloc(rt, rt_team_bytes(2));
    cr_assert_eq(rt_team_start(rt, &team, 2, memory), RT_OK);
    struct shared s;
    memset(&s, 0, sizeof s);
    s.team = &team;
    for (int i = 0; i < 20; i++)
        rt_team_run(&team, sleep_then_count, &s);
    cr_expect_eq(s.runs[1], 20);
    rt_team_stop(&team);
    rt->release(rt, memory);
}

Test(team, denormals_are_flushed) {
    static struct host h;
    struct rt_team team;
    struct rt_thread one;
    cr_assert_eq(rt_team_start(host_init(&h), &team, 1, &one), RT_OK);
    volatile float tiny = 1e-30f;
    cr_expect_eq(tiny * 1e-10f, 0.0f);
    rt_team_stop(&team);
}

Test(base, faults_are_sticky) {
    static struct host h;
    struct rt *rt = host_init(&h);
    cr_expect(!rt_faulted(rt));
    rt_fault_set(rt, 7, 12.0, 3);
    rt_fault_set(rt, 5, 13.0, 3); /* the same step: the lowest node */
    rt_fault_set(rt, 1, 99.0, 4); /* later: not kept */
    cr_expect(rt_faulted(rt));
    cr_expect_eq(rt->fault.node, 5);
    cr_expect_eq(rt->fault.step, 3);
    cr_expect_float_eq(rt->fault.value, 13.0, 0.0);
}

Test(base, messages_are_cut_to_size) {
    static struct host h;
    struct rt *rt = host_init(&h);
    static char big[3000];
    memset(big, 'x', sizeof big - 1);
    cr_expect_eq(rt_fail(rt, RT_USAGE, "%s", big), RT_USAGE);
    cr_expect_eq(strlen(rt->message), sizeof rt->message - 1);
}

#include "rt_end.h"
