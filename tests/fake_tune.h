/* fake_tune.h: the report of a tuning that never ran. Include it behind
 * cmocka.h.                                                                  */
#ifndef ATTNC_FAKE_TUNE_H
#define ATTNC_FAKE_TUNE_H

#include <math.h>

#include "../compiler/tune.h"

static const Task fake_tasks[] = {
    { .key = { TaskMatmul, "512x2048", "bias_relu", DtypeF32 } },
    { .key = { TaskMatmul, "2048x512", "bias_residual", DtypeBf16 } },
    { .key = { TaskAttention, "64x64", "causal_paged", DtypeF32 } },
    { .key = { TaskRows, "512x2048_2048x512", "", DtypeF32 } },
    { .key = { TaskSplit, "encode_512x2048x6", "", DtypeF32 } }
};
enum { FakeTasks = 5 };

static const Candidate fake_bad[] = {
    { { .mr = 16, .nr = 64 }, FateFailed, "error: out of registers", 2.2e-3,
      NAN, NAN, 0, 0, 1.0 },
    { { .mr = 1, .nr = 16 }, FateCrashed, "signal 11 (Segmentation fault)",
      4e-3, NAN, NAN, 0, 0, 2.0 },
    { { .mr = 2, .nr = 16 }, FateHung, "no answer in 2 s", 3e-3, NAN, NAN, 0,
      0, 3.0 },
    { { .mr = 3, .nr = 64 }, FateWrong, "byte 17 differs", 2e-3, 1.1e-3, 0.01,
      3, 1, 3.5 },
    { { .mr = 5, .nr = 48 }, FateNaN, "3 values are no numbers", 2e-3, NAN, NAN,
      0, 0, 4.0 }
};

static inline Candidate fake_candidate(int i)
{
    const double slow = 1.35 - 0.05 * (i * 7 % 11), at = 0.4 * i;
    const Candidate c = {
        .tiling = { .mr = 4 + i % 8, .nr = 16 + 16 * (i % 3), .ahead = 2 },
        .fate = i % 4 == 3 ? FateRanked : FateTimed,
        .predicted = 1.9e-3 * slow, .spread = 0.004,
        .seconds = i % 4 == 3 ? NAN : 2e-3 * slow,
        .samples = i % 4 == 3 ? 0 : 12, .round = i % 4 == 3 ? 0 : 1 + i % 3,
        .when = i % 4 == 3 ? NAN : at
    };
    return c;
}

static inline TuneTask fake_task(Arena *a, int i)
{
    TuneTask t = { .task = &fake_tasks[i], .share = 0.4 / (i + 1),
                   .limit = 1.5e-3, .bound = i == 1 ? "memory" : "FMA",
                   .finished = true, .pairs = 31, .p_value = 0.0003,
                   .gain = { 1.027, 1.031, 1.036 } };
    int best = 0;
    for (int k = 0; k < 30; k++)
        vec_push(a, &t.candidate, fake_candidate(k));
    t.candidate.at[0].tiling = (Tiling){ .mr = 6, .nr = 64, .ahead = 2 };
    for (int k = 0; k < t.candidate.n; k++)
        if (t.candidate.at[k].seconds < t.candidate.at[best].seconds)
            best = k;
    t.champion = best;
    for (int k = 0; i == 0 && k < 5; k++)
        vec_push(a, &t.candidate, fake_bad[k]);
    return t;
}

/* Each kind of end that a task can have. */
static inline TuneReport fake_report(Arena *a)
{
    static const Spec spec = { .name = "made-up" };
    static const Engine engine = { .spec = (Spec *)&spec };
    static const TuneOptions options = { .budget = 60 };
    TuneReport r = {
        .arena = a, .engine = &engine, .options = &options,
        .machine = { "AMD \"EPYC\" <7>", 2, { 32 << 10, 1 << 20, 32 << 20 },
                     { { 2, 2.104e11, { 5e11, 1.8e11, 9e10, 2.13e10 } } }, 1 },
        .rates = { 2, 2.104e11, { 5e11, 1.8e11, 9e10, 2.13e10 } },
        .host = { "AMD \"EPYC\" <7>", "32K 1M 32M", "x86-64-v4", 2,
                  "Debian clang version 19.1.7 -O2" },
        .path = "/home/me/.cache/attnc/tune.txt", .seconds = 48.3
    };
    const TuneEnd ends[] = {
        { "encode", 23.1e-3, 22.4e-3, { 1.026, 1.031, 1.035 }, 40 },
        { "step", 612e-6, 615e-6, { 0.985, 0.996, 1.004 }, 200 }
    };
    for (int i = 0; i < FakeTasks; i++)
        vec_push(a, &r.task, fake_task(a, i));
    r.task.at[1].champion = 0;
    r.task.at[1].gain = (Interval){ 1, 1, 1 };
    r.task.at[3].reused = true;
    r.task.at[3].candidate.n = 2;
    r.task.at[3].champion = 1;
    r.task.at[4].finished = false;
    vec_push(a, &r.end, ends[0]);
    vec_push(a, &r.end, ends[1]);
    return r;
}

#endif
