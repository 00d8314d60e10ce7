/* machine.h: measured rates of this computer, and the targets of code
 * generation. All rates are per second.
 *
 *   find.c     name, cores and caches of this computer
 *   machine.c  its rates of multiply-adds and reads, for 1 .. N threads
 *   target.c   the table of targets; cpu.c identifies this processor
 *
 * In:  this computer; the name of a target.
 * Out: its rates, which `attnc bench` compares with a model's; a Target.
 * Other public header: target.h. */
#ifndef ATTNC_MACHINE_H
#define ATTNC_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/target.h"

typedef enum { LevelL1, LevelL2, LevelL3, LevelMemory, Levels } Level;
extern const char *const level_name[Levels]; /* "L1" to "memory" */

typedef struct { /* rates of several threads together, per second */
    int threads;
    double fma;          /* f32 operations, two for each FMA */
    double dot;          /* operations of integer dot products; 0: no
                            instruction for them */
    double pair;         /* operations of the instruction that sums two products
                            of bf16, which may be slower than FMAs; 0: none */
    double read[Levels]; /* bytes read from each level; 0: unknown */
} Rates;

enum { MostRates = 16 }; /* for 1, 2, 4, ... 2^14 threads, and for all cores */

typedef struct {
    char cpu[128];             /* e.g. "AMD EPYC"; or "unknown" */
    int cores;                 /* cores that this process may use */
    size_t cache[LevelMemory]; /* bytes of L1 (data), L2, L3 */
    double clock;           /* cycles per second of a busy core; 0: unknown */
    Rates rates[MostRates]; /* sorted by number of threads */
    int counts;
} Machine;

/* ---- find.c ---- */

/* Sets all members except the clock and the rates. */
void machine_find(Machine *m);

/* ---- machine.c ---- */

/* Measures f32 multiply-adds in registers. Returns the operations per second of
 * `threads` threads together, two for each multiply-add, in the best of many
 * short rounds within `seconds`; other programs disturb the best round least.
 * Uses instructions that code for `t` may use. If t is NULL or has width 1,
 * which compilers may vectorise, it uses all instructions of the machine. */
double machine_fma_rate(const Target *t, int threads, double seconds);

/* Like machine_fma_rate(), for integer dot products; 0: no such instruction. */
double machine_dot_rate(const Target *t, int threads, double seconds);

/* Like machine_fma_rate(), for the instruction that sums two products of bf16;
 * 0: no such instruction. */
double machine_pair_rate(const Target *t, int threads, double seconds);

/* Measures a core's cycles per second, within `seconds`; 0: unknown. */
double machine_clock(double seconds);

typedef struct { /* memory for measuring reads */
    void *at;
    size_t bytes;
} ReadBlock;

/* Allocates a block; returns false if there is no memory. */
bool read_block_make(ReadBlock *b, size_t bytes);
void read_block_free(ReadBlock *b);
/* Returns the bytes per second that `threads` threads read together in the best
 * round. Each repeatedly reads its own piece of `piece` bytes of `b`. 0: `b` is
 * too small. */
double machine_read_rate(const ReadBlock *b, int threads, size_t piece,
                         double seconds);

/* Measures, within about `seconds`, the rates of 1, 2, 4, ... threads, of all
 * cores, and of `threads` threads. Multiply-adds use the instructions of
 * `t`. */
void machine_measure(Machine *m, const Target *t, int threads, double seconds);
/* Keep the better rates of two measurements of one machine, because other
 * programs may have slowed down either. */
void rates_keep_better(Rates *r, const Rates *again);
void machine_keep_better(Machine *m, const Machine *again);
/* Returns the rates of `threads` threads, or of the next smaller number that
 * was measured. */
const Rates *machine_rates(const Machine *m, int threads);
/* Returns the fastest level that holds `bytes` bytes. */
Level machine_level(const Machine *m, double bytes);

#endif
