/* fake_tune.h: the report of a tuning that never ran, with every possible
 * outcome of a task. Included after cmocka.h. */
#ifndef ATTNC_FAKE_TUNE_H
#define ATTNC_FAKE_TUNE_H

#include <math.h>
#include <string.h>

#include "support/scratch.h"

static Arena *a; /* of one test program */

static int set_up(void **state)
{
    a = arena_new();
    return scratch_make(state);
}

static int tear_down(void **state)
{
    arena_free(a);
    return scratch_remove(state);
}

static const Task fake_tasks[] = {
    { .key = { TaskMatmul, "512x2048", "bias_relu", DtypeF32, ArithmeticF32 } },
    { .key = { TaskMatmul, "2048x500", "bias_residual", DtypeBf16,
               ArithmeticF32 } },
    { .key = { TaskSmallM, "512x2048", "bias_relu", DtypeF32, ArithmeticF32 } },
    { .key = { TaskAttention, "64x64", "causal_paged", DtypeF32,
               ArithmeticF32 } },
    { .key = { TaskRows, "512x2048_2048x512", "", DtypeF32, ArithmeticF32 } },
    { .key = { TaskSplit, "512x2048x12", "encode_decode", DtypeF32,
               ArithmeticF32 } },
};
enum { FakeTasks = 6, FakeTimed = 24, FakeRanked = 6, FakeRemoved = 5 };

/* Returns a candidate of each status from StatusFailed on. */
static inline Candidate fake_removed(int k)
{
    static const char *const why[] = { "error: out of registers",
                                       "signal 11 (Segmentation fault)",
                                       "no answer in 2 s",
                                       "byte 17 <&> \"is\" \x1b[31m other",
                                       "3 values are no numbers" };
    static const int mr[] = { 16, 1, 2, 3, 5 }, nr[] = { 64, 16, 16, 64, 48 };
    const bool ran = k == StatusWrong - StatusFailed;
    Candidate c = { .tiling = { .mr = mr[k], .nr = nr[k] },
                    .status = StatusFailed + k,
                    .predicted = 2e-3,
                    .seconds = ran ? 1.1e-3 : NAN,
                    .spread = ran ? 0.01 : NAN,
                    .samples = ran ? 3 : 0,
                    .rung = ran,
                    .when = 1.0 + k,
                    .gain = NAN,
                    .tried = true };
    snprintf(c.why, sizeof c.why, "%s", why[k]);
    return c;
}

/* i 0: the default. */
static inline Tiling fake_tiling(TaskKind kind, int i)
{
    switch (kind) {
    case TaskMatmul:
        return (Tiling){ .mr = i ? 8 - i % 3 : 6,
                         .nr = i ? 32 + i % 2 * 16 : 64,
                         .k = i % 4 ? 512 : 256,
                         .prefetch = 3 - i % 3,
                         .panels = 4 + i };
    case TaskSmallM:
        return (Tiling){ .small_m = 9 - i % 8, .streams = 2 - i % 2 };
    case TaskAttention:
        return (Tiling){ .mr = 6 + i % 3,
                         .nr = i % 2 ? 48 : 64,
                         .prefetch = 3,
                         .queries = 48 + i % 3 * 24,
                         .keys = 64 + i % 4 * 64 };
    case TaskRows:  return (Tiling){ .rows = 48 + i * 8 };
    case TaskSplit: return (Tiling){ .work = 1500000 + i * 100000 };
    case TaskKinds: break;
    }
    return (Tiling){ 0 };
}

static inline TuneTask fake_task(int i)
{
    TuneTask t = { .task = &fake_tasks[i],
                   .share = 0.4 / (i + 1),
                   .limit = 1.5e-3,
                   .bound = i == 1 ? "memory" : "FMA",
                   .finished = true,
                   .pairs = 31,
                   .p_value = 0.0003,
                   .incumbent = 14,
                   .lead = 14,
                   .gain = { 1.027, 1.031, 1.036 } };
    for (int k = 0; k < FakeTimed + FakeRanked; k++) {
        const bool ranked = k % 5 == 4 && k != 14;
        const double slow = k == 0  ? 1
                          : k == 14 ? 1 / 1.031
                                    : 0.985 + 0.07 * (k * 7 % 17);
        const Candidate c = {
            .tiling = fake_tiling(fake_tasks[i].key.kind, k),
            .status = ranked ? StatusRanked : StatusTimed,
            .predicted = 1.9e-3 * slow,
            .seconds = ranked ? NAN : 2e-3 * slow,
            .spread = ranked ? NAN : 0.004,
            .samples = ranked ? 0 : 12,
            .rung = ranked ? 0 : 1 + k % 3,
            .when = ranked ? NAN : 0.4 * k + 7,
            .gain = ranked ? NAN : 1 / slow,
            .tried = !ranked,
        };
        vec_push(a, &t.candidate, c);
    }
    for (int k = 0; i == 0 && k < FakeRemoved; k++)
        vec_push(a, &t.candidate, fake_removed(k));
    return t;
}

static const char fake_cpu[] = "AMD \"EPYC\" <7>";

static inline TuneReport fake_report(void)
{
    static const Spec spec = { .name = "made-up" };
    static const Engine engine = { .spec = (Spec *)&spec };
    static const TuneOptions options = { .budget = TuneBudget };
    static const Rates rates = {
        2, 2.104e11, 0, 0, { 5e11, 1.8e11, 9e10, 2.13e10 }
    };
    TuneReport r = {
        .arena = a,
        .engine = &engine,
        .options = &options,
        .machine = { .cores = 2,
                     .cache = { 32 << 10, 1 << 20, 32 << 20 },
                     .rates = { rates },
                     .counts = 1 },
        .rates = rates,
        .host = { fake_cpu, "32K 1M 32M", "x86-64-v4", 2,
                  "Debian clang version 19.1.7 -O2" },
        .path = "/home/me/.cache/attnc/tune.txt",
        .seconds = 48.3,
    };
    const EndToEnd ends[] = {
        { "encode", 23.1e-3, 22.4e-3, { 1.026, 1.031, 1.035 }, 40, 1, false },
        { "step", 612e-6, 615e-6, { 0.985, 0.996, 1.004 }, 200, 1, false },
    };
    snprintf(r.machine.cpu, sizeof r.machine.cpu, "%s", fake_cpu);
    for (int i = 0; i < FakeTasks; i++)
        vec_push(a, &r.task, fake_task(i));
    r.task.at[1].incumbent = 0;
    r.task.at[1].gain = (Interval){ 1, 1, 1 };
    r.task.at[4].reused = true;
    r.task.at[4].candidate.n = 2;
    r.task.at[4].incumbent = 1;
    r.task.at[5].finished = false;
    vec_push(a, &r.end_to_end, ends[0]);
    vec_push(a, &r.end_to_end, ends[1]);
    return r;
}

/* ---- what was printed ---- */
static inline int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

/* Checks that the text does not move the terminal's cursor. */
static inline void assert_still(const char *text)
{
    for (; *text; text++)
        assert_true((unsigned char)*text >= 0x20 || *text == '\n');
}

#endif
