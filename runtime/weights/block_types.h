/* block_types.h: ggml's types whose elements are stored in blocks. A row gives
 * the number in a .gguf file, the name, the elements and the bytes of a block,
 * and the function of block_loops.h that computes the floats of a block. */
#ifndef ATTNC_BLOCK_TYPES_H
#define ATTNC_BLOCK_TYPES_H

enum { BlockMost = 256 }; /* maximum elements of a block */

/* clang-format off */
#define BLOCK_TYPES(row)                  \
    row(2, Q4_0, 32, 18, block_q4_0)      \
    row(3, Q4_1, 32, 20, block_q4_1)      \
    row(6, Q5_0, 32, 22, block_q5_0)      \
    row(7, Q5_1, 32, 24, block_q5_1)      \
    row(8, Q8_0, 32, 34, block_q8_0)      \
    row(10, Q2_K, 256, 84, block_q2_k)    \
    row(11, Q3_K, 256, 110, block_q3_k)   \
    row(12, Q4_K, 256, 144, block_q4_k)   \
    row(13, Q5_K, 256, 176, block_q5_k)   \
    row(14, Q6_K, 256, 210, block_q6_k)   \
    row(20, IQ4_NL, 32, 18, block_iq4_nl) \
    row(23, IQ4_XS, 256, 136, block_iq4_xs) \
    row(39, MXFP4, 32, 17, block_mxfp4)
/* clang-format on */

#endif
