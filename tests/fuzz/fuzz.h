/* fuzz.h: what the fuzz targets share. A target is a file NAME.c with
 * libFuzzer's functions, and its inputs in corpus/NAME. It is linked twice: by
 * libFuzzer, which makes inputs (make fuzz), and with replay.c, which takes
 * those of the corpus (make test).                                          */
#ifndef ATTNC_FUZZ_H
#define ATTNC_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every target has both, and may have the third. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
/* libFuzzer's own changes of bytes; replay.c makes none. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
    __attribute__((weak));

/* Runs a job in this process as if it were one of its own: exit() ends the job
 * alone, whose code it returns, and what it left open or allocated is given
 * back. A job ends the whole run where it says "internal error", returns a code
 * that docs/errors.md has not, or takes more than a second.                 */
int fuzz_run(int (*job)(void *with), void *with);
/* What a job gets no more of; 0: no limit. It is out of memory behind so many
 * bytes, and a spec with more layers or rows is refused.                    */
extern struct FuzzLimits {
    int64_t memory, layers, rows;
} fuzz_limits;
/* Stops the run: a property of the code does not hold. */
_Noreturn void fuzz_wrong(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* A file that the code under test finds at this path, in memory of exactly its
 * size, where a byte read too far is seen. The data are not copied.         */
void fuzz_file(const char *path, const void *data, size_t n);
void fuzz_files_clear(void);

/* The parts of an input that a line of `%%` cuts, in order, at most 8: files
 * and texts of any bytes.                                                   */
typedef struct {
    const uint8_t *at;
    size_t n;
} FuzzPart;
int fuzz_parts(FuzzPart *part, const uint8_t *data, size_t size);

/* Random numbers for mutators: below n, the same for the same seed. */
typedef struct {
    uint64_t state;
} FuzzDice;
uint32_t fuzz_dice(FuzzDice *d, uint32_t n);
/* A number that is likely to matter: around a power of 2, or one of these. */
int64_t fuzz_number(FuzzDice *d);
/* libFuzzer's changes of data[from .. from + n - 1], which may grow as far as
 * `most` allows; what stands behind moves. The new size of all.             */
size_t fuzz_change(uint8_t *data, size_t size, size_t most, size_t from,
                   size_t n);

#endif
