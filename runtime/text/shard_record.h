/* shard_record.h: the record of a shard. Shard I of N answers every N-th block
 * of the input, from block I - 1 on; a block is ATTN_SHARD_BLOCK questions. Its
 * answers go to OUTPUT.I-of-N, which appears when it is complete; until then
 * they are in OUTPUT.I-of-N.part. The record, in OUTPUT.I-of-N.shard, grows by
 * a line when a block is complete. --resume goes on behind the last one, and
 * attnc merge joins the shards block by block.
 *
 *     attnc shard 1
 *     shard 2/5
 *     model 0123456789abcdef    hash of spec, weights and vocabularies
 *     options --beam=4          those that change answers
 *     columns 384               of a .npy file; 0: answers are text
 *     block 1 73211 0 89ab12    block 1 ends at this byte; 1: with errors;
 *                               hash of the input up to there
 *     end 100000 89abcdef       questions of the input, and its hash */
#ifndef ATTN_SHARD_RECORD_1
#define ATTN_SHARD_RECORD_1

#include "runtime/text/input_lines.h"

enum {
    ATTN_SHARD_BLOCK = 1024,
    ATTN_SHARDS = 1 << 20,        /* maximum N */
    ATTN_SHARD_HEAD = 5,          /* lines before the blocks */
    ATTN_SHARD_COLUMNS = 1 << 24, /* maximum columns */
    ATTN_NPY_HEAD = 128           /* bytes before the numbers of a .npy file */
};
#define ATTN_SHARD_QUESTIONS ((int64_t)1 << 50)

struct attn_shard {
    int64_t which, shards; /* I - 1 and N */
    uint64_t model;
    uint64_t input; /* hash of the input so far, or of all if complete */
    const char *options;
    int64_t columns;
    int64_t blocks;    /* the shard's own blocks that are answered */
    int64_t end;       /* end of the last one in the answers, in bytes */
    int64_t questions; /* of all the input, if complete */
    bool errors;       /* questions up to there were invalid */
    bool complete;
    int64_t lines, bytes; /* complete lines of the record, and their bytes */
};

#if ATTN_IN_ATTNC
/* Reads the text of a record, n bytes, in which it ends each line by a NUL; a
 * last line without its newline is left out. r->options points into the text.
 * `ends`, n / 8 + 1 numbers or NULL, receives the end of each block. Returns 0,
 * with *why, if the text is not a record. */
int attn_shard_read(struct attn_shard *r, char *text, int64_t n, int64_t *ends,
                    char why[ATTN_WHY]);
/* Returns I - 1 and N of a text such as "2/5". "mpi": those of this process of
 * mpirun or srun. Returns 0, with *why, if the text is invalid. */
int attn_shard_place(const char *text, int64_t *which, int64_t *shards,
                     char why[ATTN_WHY]);
/* Returns false if mpirun has not started this process. */
int attn_mpi_place(int64_t *rank, int64_t *ranks);
#endif

#endif
