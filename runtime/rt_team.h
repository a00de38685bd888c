/* rt_team.h: the threads of a trainer: started once, woken for each piece of work, kept in step by
 * a barrier.
 *
 * A barrier is one counter a thread ("arrived") and one for all ("release"), each on its own cache
 * line: thread 0 waits until every counter has reached this round, then raises the common one. Who
 * waits spins briefly and then sleeps on the counter (futex), so that a neighbour process that
 * takes a core costs a wake-up and not a time slice. A team of one has no threads, and its barrier
 * is free.
 */
#ifndef RT_TEAM_H
#define RT_TEAM_H

#include "rt_base.h"

#include <limits.h>
#include <pthread.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

enum { RT_MAX_THREADS = 256 };

/* A counter that threads wait on, alone on its cache line. */
struct rt_flag {
    uint32_t value;
    uint32_t sleepers; /* threads that sleep on value, or are about to */
    char pad[56];
};

struct rt_team;

struct rt_thread {
    struct rt_flag arrived;
    struct rt_team *team;
    pthread_t id;
    int number;
    uint32_t round; /* barriers passed; only the thread itself uses it */
    uint32_t noise; /* state of the random delays */
    char pad[64 - sizeof(void *) - sizeof(pthread_t) - 3 * sizeof(int)];
};

struct rt_team {
    struct rt_flag release;            /* the barrier round that all have reached */
    struct rt_flag work;               /* pieces of work given out */
    void (*fn)(void *arg, int thread); /* NULL: stop */
    void *arg;
    struct rt_thread *thread; /* [n] */
    int n;
    int64_t spin; /* nanoseconds before sleeping */
};

/* ---- waiting ----------------------------------------------------------------------------------
 */

RT_INLINE void rt_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

RT_HOT void rt_flag_sleep(struct rt_flag *f, uint32_t seen) {
#ifdef __linux__
    syscall(SYS_futex, &f->value, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#else
    (void)f, (void)seen;
    sched_yield();
#endif
}

/* Waits until f->value has reached `round`, wherever 32 bits have wrapped. */
RT_HOT void rt_flag_wait(struct rt_flag *f, uint32_t round, int64_t spin) {
    for (int64_t until = 0; spin > 0;) {
        for (int i = 0; i < 64; i++) {
            if ((int32_t)(__atomic_load_n(&f->value, __ATOMIC_ACQUIRE) - round) >= 0)
                return;
            rt_pause();
        }
        int64_t now = (int64_t)(rt_now() * 1e9);
        if (!until)
            until = now + spin;
        else if (now > until)
            break;
    }
    /* Sequentially consistent, as in rt_flag_raise: either this thread sees the new value, or the
     * raiser sees the sleeper. */
    __atomic_add_fetch(&f->sleepers, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        uint32_t seen = __atomic_load_n(&f->value, __ATOMIC_SEQ_CST);
        if ((int32_t)(seen - round) >= 0)
            break;
        rt_flag_sleep(f, seen);
    }
    __atomic_sub_fetch(&f->sleepers, 1, __ATOMIC_RELAXED);
}

RT_HOT void rt_flag_raise(struct rt_flag *f, uint32_t round) {
    __atomic_store_n(&f->value, round, __ATOMIC_SEQ_CST);
#ifdef __linux__
    if (__atomic_load_n(&f->sleepers, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &f->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
#endif
}

/* With -DRT_DELAY threads dawdle at random, which brings races out. */
RT_INLINE void rt_dawdle(struct rt_thread *t) {
#ifdef RT_DELAY
    t->noise = t->noise * 1664525u + 1013904223u;
    struct timespec pause = {0, (long)(t->noise >> 16) * 2};
    if (t->noise & 0x8000)
        nanosleep(&pause, NULL);
#else
    (void)t;
#endif
}

/* ---- barrier and work -------------------------------------------------------------------------
 */

RT_INLINE void rt_team_arrive(struct rt_team *team, int thread) {
    struct rt_thread *me = &team->thread[thread];
    me->round++;
    rt_flag_raise(&me->arrived, me->round);
}

/* Thread 0 waits for all the others. */
RT_INLINE void rt_team_gather(struct rt_team *team) {
    uint32_t round = ++team->thread[0].round;
    for (int t = 1; t < team->n; t++)
        rt_flag_wait(&team->thread[t].arrived, round, team->spin);
}

RT_HOT void rt_barrier_all(struct rt_team *team, int thread) {
    rt_dawdle(&team->thread[thread]);
    if (thread == 0) {
        rt_team_gather(team);
        rt_flag_raise(&team->release, team->thread[0].round);
    } else {
        rt_team_arrive(team, thread);
        rt_flag_wait(&team->release, team->thread[thread].round, team->spin);
    }
    rt_dawdle(&team->thread[thread]);
}

/* Inside the function of rt_team_run: waits for all threads; what each wrote before, all read
 * after. Every thread must pass the same barriers. A team of one passes at once. */
RT_INLINE void rt_barrier(struct rt_team *team, int thread) {
    if (team->n > 1)
        rt_barrier_all(team, thread);
}

/* Runs fn(arg, t) for each thread t, the caller as thread 0, and returns when all have returned.
 * Must not be called from inside fn. */
RT_HOT void rt_team_run(struct rt_team *team, void (*fn)(void *arg, int thread), void *arg) {
    if (team->n == 1) {
        fn(arg, 0);
        return;
    }
    team->fn = fn;
    team->arg = arg;
    rt_flag_raise(&team->work, team->work.value + 1);
    rt_dawdle(&team->thread[0]);
    fn(arg, 0);
    rt_team_gather(team);
}

RT_HOT void *rt_team_main(void *p) {
    struct rt_thread *me = (struct rt_thread *)p;
    struct rt_team *team = me->team;
    rt_flush_denormals();
    for (uint32_t given = 1;; given++) {
        rt_flag_wait(&team->work, given, team->spin);
        if (!team->fn)
            return NULL;
        rt_dawdle(me);
        team->fn(team->arg, me->number);
        rt_team_arrive(team, me->number);
    }
}

/* Ends the threads; the memory given to rt_team_start is free again. */
RT_FN void rt_team_stop(struct rt_team *team) {
    if (team->n > 1) {
        team->fn = NULL;
        rt_flag_raise(&team->work, team->work.value + 1);
    }
    for (int t = 1; t < team->n; t++)
        pthread_join(team->thread[t].id, NULL);
    team->n = 1;
}

/* Bytes that rt_team_start needs for n threads. */
RT_FN size_t rt_team_bytes(int n) {
    return (size_t)n * sizeof(struct rt_thread);
}

/* Starts n-1 threads (1 <= n <= RT_MAX_THREADS) in `memory` (aligned to 64), which must live until
 * rt_team_stop. The caller becomes thread 0. Denormals are flushed in all of them. RT_ENV when a
 * thread cannot be had; the team is then one thread, and usable. */
RT_FN enum rt_status rt_team_start(struct rt *rt, struct rt_team *team, int n, void *memory) {
    memset(team, 0, sizeof *team);
    memset(memory, 0, rt_team_bytes(n));
    team->thread = (struct rt_thread *)memory;
    team->spin = n > rt_cores() ? 0 : 30000;
    team->n = 1;
    rt_flush_denormals();
    for (int t = 0; t < n; t++) {
        struct rt_thread *one = &team->thread[t];
        one->team = team;
        one->number = t;
        one->noise = 12345u + 977u * (uint32_t)t;
        int error = t ? pthread_create(&one->id, NULL, rt_team_main, one) : 0;
        if (error) {
            rt_team_stop(team);
            return rt_fail(rt, RT_ENV, "cannot start thread %d of %d: %s", t + 1, n,
                           strerror(error));
        }
        team->n = t + 1;
    }
    return RT_OK;
}

/* Thread t of n owns tiles *lo … *hi-1 of T: floor(t*T/n) … floor((t+1)*T/n)-1. */
RT_INLINE void rt_part(int64_t T, int thread, int n, int64_t *lo, int64_t *hi) {
    *lo = T * thread / n;
    *hi = T * (thread + 1) / n;
}

#endif
