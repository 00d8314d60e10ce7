/* machine.h: what this computer can do, measured, and the targets that code is
 * made for. All rates are per second.
 *
 *   find.c     what it is: name, cores, caches
 *   machine.c  how fast it is: multiply-adds, reads, by 1 .. N threads
 *   target.c   the table of targets; cpu.c which of them this computer is
 *
 * In:  this computer; the name of a target.
 * Out: its rates, which `attnc bench` holds a model against; a Target.
 * Public beside it: target.h.                                               */
#ifndef ATTNC_MACHINE_H
#define ATTNC_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/target.h"

typedef enum { LevelL1, LevelL2, LevelL3, LevelMemory, Levels } Level;
extern const char *const level_name[Levels]; /* "L1" .. "memory" */

typedef struct { /* what some threads reach together */
    int threads;
    double fma;          /* operations: f32, one FMA is two */
    double dot;          /* those of sums of products of integers; 0:
                            there is no instruction for them */
    double read[Levels]; /* bytes; 0: unknown */
} Rates;

enum { MostRates = 16 }; /* 1, 2, 4 .. 2^14, and all cores */

typedef struct {
    char cpu[128];             /* "AMD EPYC"; "unknown" */
    int cores;                 /* that this process may use */
    size_t cache[LevelMemory]; /* bytes of L1 (data), L2, L3 */
    double clock;              /* cycles of a busy core; 0: unknown */
    Rates rates[MostRates];    /* by rising threads */
    int counts;
} Machine;

/* ---- find.c ---- */

/* Everything but the rates. */
void machine_find(Machine *m);

/* ---- machine.c ---- */

/* Seconds of a clock that never steps back. */
double machine_seconds(void);

/* Multiply-adds (two operations each) of f32 vectors, in registers only, by
 * some threads at once: operations a second of all, in the best of many short
 * rounds within `seconds`, so that what else runs on the machine is left out.
 * Of what code for `t` may use: NULL, or of width 1, which compilers may make
 * wider: all that the machine has.                                           */
double machine_fma_rate(const Target *t, int threads, double seconds);

/* The same of products of integers and their sums. */
double machine_dot_rate(const Target *t, int threads, double seconds);

/* Cycles a second of a core, within `seconds`; 0: not known how to tell. */
double machine_clock(double seconds);

typedef struct { /* memory that is read whole */
    void *at;
    size_t bytes;
} ReadBlock;

/* False: no memory. */
bool read_block_make(ReadBlock *b, size_t bytes);
void read_block_free(ReadBlock *b);
/* Bytes a second of `threads` threads that each read a piece of its own, of
 * `piece` bytes, again and again: the best round. 0: `b` has no room.        */
double machine_read_rate(const ReadBlock *b, int threads, size_t piece,
                         double seconds);

/* Measures rates of 1, 2, 4 .. cores threads, and of `threads`, within about
 * `seconds`; multiply-adds as code for `t`.                                  */
void machine_measure(Machine *m, const Target *t, int threads, double seconds);
/* The better of two measurements of one machine: one of them may have been
 * taken while other programs ran. */
void rates_keep_better(Rates *r, const Rates *again);
void machine_keep_better(Machine *m, const Machine *again);
/* Those of `threads`, or of the most threads below it. */
const Rates *machine_rates(const Machine *m, int threads);
/* The nearest level that holds so many bytes. */
Level machine_level(const Machine *m, double bytes);

#endif
