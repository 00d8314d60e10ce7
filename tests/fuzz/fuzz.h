/* fuzz.h: shared by the fuzz targets. A target is a file NAME.c with
 * libFuzzer's functions, and its inputs in corpus/NAME. It is linked twice:
 * with libFuzzer, which generates inputs (make fuzz), and with replay.c, which
 * runs the corpus (make test). */
#ifndef ATTNC_FUZZ_H
#define ATTNC_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every target defines the first two; the third is optional. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
/* libFuzzer's own mutations; replay.c makes none. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
    __attribute__((weak));

/* Runs a job like a process of its own: exit() ends only the job, whose code is
 * returned, and files and memory that it left are released. The complete run
 * ends if the job prints "internal error", returns a code that is not in
 * docs/errors.md, or takes more than a second. */
int fuzz_run(int (*job)(void *with), void *with);
/* Limits of a job; 0: none. An allocation beyond `memory` bytes fails, and
 * specs with more layers or rows are rejected. */
extern struct FuzzLimits {
    int64_t memory, layers, rows;
} fuzz_limits;
/* Stops the run because a property of the code does not hold. */
_Noreturn void fuzz_wrong(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* Adds a file that the code under test finds at this path. Its memory has
 * exactly its size, so that a read beyond the end is detected. Does not copy
 * the data. */
void fuzz_file(const char *path, const void *data, size_t n);
void fuzz_files_clear(void);

/* Splits an input at lines of `%%` into at most 8 parts, in order: files and
 * texts of any bytes. */
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
/* Returns a number near a power of 2, or one of these. */
int64_t fuzz_number(FuzzDice *d);
/* Lets libFuzzer change data[from .. from + n - 1], which may grow up to
 * `most`; later bytes move. Returns the new total size. */
size_t fuzz_change(uint8_t *data, size_t size, size_t most, size_t from,
                   size_t n);

#endif
