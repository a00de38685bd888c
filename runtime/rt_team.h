/* rt_team.h: the threads of a trainer: started once, woken for each piece of work, kept in step by a
 * barrier. */
#ifndef RT_TEAM_H
#define RT_TEAM_H
#include "rt_base.h"

enum { RT_MAX_THREADS = 256 };
struct rt_thread; /* one cache line or two a thread */
struct rt_team;   /* complete type here in the end: `struct rt_team team;` in struct nn */

/* Bytes that rt_team_start needs for n threads (64-byte aligned). */
RT_FN size_t rt_team_bytes(int n);
/* Starts n-1 threads (n >= 1) in `memory`, which must live until rt_team_stop. The caller becomes
 * thread 0. Denormals are flushed in all of them. RT_ENV when a thread cannot be had. */
RT_FN enum rt_status rt_team_start(struct rt *rt, struct rt_team *team, int n, void *memory);
/* Runs fn(arg, t) for each thread t, the caller as 0; returns when all have returned. Not nested. */
RT_FN void rt_team_run(struct rt_team *team, void (*fn)(void *arg, int thread), void *arg);
/* Inside fn: waits for all threads; what each wrote before, all read after. n == 1: nothing. */
RT_INLINE void rt_barrier(struct rt_team *team, int thread);
RT_FN void rt_team_stop(struct rt_team *team);
/* Thread t of n owns tiles *lo … *hi-1 of T: floor(t*T/n) … floor((t+1)*T/n)-1. */
RT_INLINE void rt_part(int64_t T, int thread, int n, int64_t *lo, int64_t *hi);
#endif
