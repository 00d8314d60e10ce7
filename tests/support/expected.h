/* expected.h: reads expected.json of a model. Included after cmocka's headers.
 */
#ifndef ATTNC_EXPECTED_H
#define ATTNC_EXPECTED_H

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/skip.h"

/* Returns the folder of the real models, which are not in the repository. */
static inline const char *data_folder(void)
{
    const char *folder = getenv("ATTNC_DATA");
    return folder ? folder : "../shared/data";
}

/* Reads one of their files; skips the test if it is missing. The text is valid
 * until the fourth next call. */
static inline const char *data_file(const char *model, const char *name)
{
    static char path[4][512];
    static int next;
    char *at = path[next++ % 4];
    snprintf(at, sizeof path[0], "%s/%s/%s", data_folder(), model, name);
    if (access(at, R_OK))
        SKIP("%s is not there", at);
    return at;
}

static inline json_t *json_file(const char *path)
{
    json_error_t why;
    json_t *root = json_load_file(path, 0, &why);
    if (!root)
        print_error("%s:%d: %s\n", path, why.line, why.text);
    assert_non_null(root);
    return root;
}

/* Reads the numbers of a list, or of its lists, as doubles; returns their
 * count. */
static inline int64_t json_numbers(const json_t *list, double *out,
                                   int64_t most)
{
    int64_t n = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *x = json_array_get(list, i);
        if (json_is_array(x)) {
            n += json_numbers(x, out + n, most - n);
        } else {
            assert_true(n < most);
            out[n++] = json_number_value(x);
        }
    }
    return n;
}

static inline int64_t json_ids(const json_t *list, int32_t *out, int64_t most)
{
    int64_t n = (int64_t)json_array_size(list);
    assert_true(n <= most);
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)json_integer_value(json_array_get(list, (size_t)i));
    return n;
}

/* Compares all numbers of a JSON tensor with `got`, within `tolerance`. */
static inline void assert_tensor(const json_t *want, const double *got,
                                 int64_t n, double tolerance)
{
    double *x = malloc((size_t)n * sizeof *x);
    assert_int_equal(json_numbers(want, x, n), n);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(x[i] - got[i]) <= tolerance)) {
            print_error("[%lld]: expected %.9g, found %.9g\n", (long long)i,
                        x[i], got[i]);
            fail();
        }
    free(x);
}

#endif
