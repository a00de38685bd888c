/* races.c: barriers and work hand-out of rt_team, for ThreadSanitizer (see races.sh). Usage: races
 * N. Criterion's sandbox does not start under that sanitizer, hence a plain program. */
#include "host.h"
#include "rt_team.h"

struct shared {
    struct rt_team *team;
    int64_t cell[RT_MAX_THREADS];
    int64_t wrong[RT_MAX_THREADS];
};

RT_FN void rounds(void *arg, int thread) {
    struct shared *s = (struct shared *)arg;
    for (int64_t r = 1; r <= 40; r++) {
        s->cell[thread] = r;
#ifdef DROP_BARRIER
        if (r != 20)
#endif
            rt_barrier(s->team, thread);
        for (int t = 0; t < s->team->n; t++)
            s->wrong[thread] += s->cell[t] != r;
        rt_barrier(s->team, thread);
    }
}

RT_FN int races(int n) {
    static struct host h;
    static struct shared s;
    struct rt *rt = host_init(&h);
    struct rt_team team;
    void *memory = rt->alloc(rt, rt_team_bytes(n));
    if (!memory || rt_team_start(rt, &team, n, memory))
        return 2;
    s.team = &team;
    int64_t wrong = 0;
    for (int i = 0; i < 25; i++) {
        rt_team_run(&team, rounds, &s);
        for (int t = 0; t < n; t++)
            wrong += s.wrong[t];
    }
    rt_team_stop(&team);
    rt->release(rt, memory);
    return wrong ? 1 : 0;
}

#include "rt_end.h"

int main(int argc, char **argv) {
    return races(argc > 1 ? atoi(argv[1]) : 2);
}
