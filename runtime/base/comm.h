/* comm.h: the processes that divide a model. */
#ifndef ATTN_COMM_1
#define ATTN_COMM_1

#include <stdint.h>

/* How a rank exchanges data with the others. All ranks make the same calls of
 * the model with the same arguments, and get the same results. A cache is used
 * with one comm only, because a rank writes keys of its own heads. gather() and
 * reduce() must end the process if another rank never answers. */
enum { ATTN_SUM_INT32 = 1, ATTN_MAX_INT32, ATTN_SUM_FLOAT };
struct attn_comm {
    int64_t rank, ranks; /* number of this rank, from 0, and of all */
    void *with;          /* first argument of both functions */
    /* Each rank r calls it when it has columns first[r] to first[r + 1] - 1 of
     * `rows` rows of floats, which are ld apart. When it returns, this rank has
     * the columns of all. */
    void (*gather)(void *with, float *y, int64_t ld, int64_t rows,
                   const int64_t *first);
    /* Each rank calls it with as many numbers: `rows` rows of `columns`, ld
     * apart. When it returns, each number is the sum (of integers, modulo 2^32)
     * or the maximum of that number of all ranks, by `how`. Only models of
     * --sum-ranks add floats; their bits are the same in each run if these are
     * always added in the same order, such as that of the ranks. */
    void (*reduce)(void *with, int64_t how, void *x, int64_t ld, int64_t rows,
                   int64_t columns);
};

#endif
