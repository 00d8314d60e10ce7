/* run_npy.c: prints rows in NumPy's file format, version 1.0: a head of text,
 * then float32 numbers. Source: numpy.lib.format in NumPy's reference. */
#define _XOPEN_SOURCE 700 /* pwrite */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/answering.h"

void npy_head(char head[ATTN_NPY_HEAD], int64_t rows, int64_t columns)
{
    enum { Before = 10 }; /* magic, version, and length of the text */
    char text[ATTN_NPY_HEAD];
    const int n = snprintf(text, sizeof text,
                           "{'descr': '<f4', 'fortran_order': False, "
                           "'shape': (%lld, %lld), }",
                           (long long)rows, (long long)columns);
    memset(head, ' ', ATTN_NPY_HEAD);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", Before); /* 0x76 = 128 - 10 */
    memcpy(head + Before, text, (size_t)n);
    head[ATTN_NPY_HEAD - 1] = '\n';
}

void npy_begin(struct program *p)
{
    struct stat st;
    char head[ATTN_NPY_HEAD];
    if (fstat(STDOUT_FILENO, &st) != 0 || !S_ISREG(st.st_mode)
        || lseek(STDOUT_FILENO, 0, SEEK_CUR) != 0
        || fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) {
        program_fail(p, ExitUsage,
                     "--format=npy: the head of the file is "
                     "written last: give -o FILE");
        return;
    }
    npy_head(head, 0, p->m->output_columns);
    fwrite(head, 1, ATTN_NPY_HEAD, stdout);
}

void npy_end(struct program *p)
{
    char head[ATTN_NPY_HEAD];
    const int64_t columns = p->m->output_columns;
    if (p->status > ExitInput || fflush(stdout) != 0)
        return; /* main() reports that */
    const int64_t end = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    npy_head(head, (end - ATTN_NPY_HEAD) / (4 * columns), columns);
    if (pwrite(STDOUT_FILENO, head, ATTN_NPY_HEAD, 0) != ATTN_NPY_HEAD)
        program_fail(p, ExitIO, "cannot write to stdout: %s", strerror(errno));
}

void rows_npy(struct program *p, const float *x, int64_t rows)
{
    const int64_t columns = p->m->output_columns;
    const float none = NAN;
    fwrite(x, sizeof *x, rows > 0 ? (size_t)(rows * columns) : 0, stdout);
    for (int64_t i = 0; rows == 0 && p->m->output_pooled && i < columns; i++)
        fwrite(&none, sizeof none, 1, stdout);
}
