/* formats.c: the storage formats of format_rows.h, as functions. */
#include "formats.h"

#include <stddef.h>

static const struct {
    int64_t group, line, ending, shared;
} formats[] = {
#define FORMAT(name, word, group, line, ending, shared, ...) \
    { group, line, ending, shared },
#include "format_rows.h"
};

const char *const dtype_word[] = {
#define FORMAT(name, word, ...) word,
#include "format_rows.h"
    NULL,
};

const char *const dtype_choices[] = {
#define FORMAT(name, word, ...) word,
#define OWN_FORMAT(...)
#include "format_rows.h"
    NULL,
};

bool dtype_is_integer(Dtype d)
{
    return formats[d].ending > 0;
}

int64_t dtype_shared(Dtype d)
{
    return formats[d].shared;
}

int64_t dtype_stored(Dtype d, int64_t k)
{
    return (k + formats[d].group - 1) / formats[d].group * formats[d].group;
}

double dtype_number_bytes(Dtype d)
{
    return (double)formats[d].line / (double)formats[d].group;
}

int64_t dtype_column_bytes(Dtype d, int64_t k)
{
    return dtype_stored(d, k) / formats[d].group * formats[d].line
         + formats[d].ending;
}
