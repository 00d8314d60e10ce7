/* machine.h: what this computer can do, measured: the limits that `attnc
 * bench` holds a model against. One thread. All rates are per second.        */
#ifndef ATTNC_MACHINE_H
#define ATTNC_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds of a clock that never steps back. */
double machine_seconds(void);

/* Multiply-adds (two operations each) of f32 vectors as wide as the machine
 * has, in registers only: operations a second in the best of many short loops
 * within `seconds`, so that what else runs on the machine is left out.       */
double machine_fma_rate(double seconds);

typedef struct {                 /* a block of memory that is read whole */
    void *at;
    size_t bytes;
} ReadBlock;

/* False: no memory. */
bool read_block_make(ReadBlock *b, size_t bytes);
void read_block_free(ReadBlock *b);
/* Bytes a second of reading `b` again and again: the best pass. */
double machine_read_rate(const ReadBlock *b, double seconds);

typedef struct {
    char cpu[128];               /* "AMD EPYC"; "unknown" */
    int cores;                   /* that this process may use */
    size_t l2, l3;               /* bytes */
    double fma;                  /* operations a second */
    double read_l2, read_l3, read_memory;     /* bytes a second; 0: unknown */
} Machine;

/* Looks at the machine and measures it: about four times `seconds`. */
void machine_measure(Machine *m, double seconds);

#endif
