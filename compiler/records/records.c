/* records.c: finds the records that apply to a plan. The machine, the compiler
 * and the number of threads must be the same. */
#include "records/records.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- choices ---- */
Record *records_find(const Records *r, const Record *like)
{
    for (int i = 0; i < r->at.n; i++) {
        Record *at = &r->at.at[i];
        if (task_same(&at->key, &like->key)
            && host_same(&at->host, &like->host))
            return at;
    }
    return NULL;
}

void records_put(Records *r, Arena *a, const Record *record)
{
    Record *old = records_find(r, record);
    if (old)
        *old = *record;
    else
        vec_push(a, &r->at, *record);
}

Choices records_choices(Arena *a, const Records *r, const Host *host)
{
    VEC(Choice) found = { 0 };
    for (int i = r->at.n; i-- > 0;) { /* the last record of a key applies */
        const Record *from = &r->at.at[i];
        bool known = !host_same(&from->host, host);
        for (int k = 0; k < found.n && !known; k++)
            known = task_same(&found.at[k].key, &from->key);
        if (!known)
            vec_push(a, &found, ((Choice){ from->key, from->tiling }));
    }
    return (Choices){ found.at, found.n, host_text(a, host) };
}

int record_sizes(const Record *r, int64_t size[MostSizes])
{
    int n = 0;
    for (const char *at = r->key.shape; *at && n < MostSizes;) {
        char *end = (char *)at + 1;
        if (isdigit((unsigned char)*at))
            size[n++] = strtoll(at, &end, 10);
        at = end;
    }
    return n;
}

/* Returns the distance between two shapes: the sum of |log2| of the ratios of
 * their numbers; INFINITY if they are not comparable. */
static double shape_distance(const char *a, const char *b)
{
    double sum = 0;
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *a_end, *b_end;
            sum += fabs(log2(((double)strtoul(a, &a_end, 10) + 1)
                             / ((double)strtoul(b, &b_end, 10) + 1)));
            a = a_end;
            b = b_end;
        } else if (*a++ != *b++) {
            return INFINITY;
        }
    }
    return *a || *b ? INFINITY : sum;
}

const Record *records_nearest(const Records *r, const Host *host,
                              const TaskKey *key)
{
    const Record *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < r->at.n; i++) {
        const Record *at = &r->at.at[i];
        const double d = shape_distance(at->key.shape, key->shape);
        if (d >= least || strcmp(at->key.shape, key->shape) == 0
            || at->key.kind != key->kind || at->key.dtype != key->dtype
            || strcmp(at->key.epilogue, key->epilogue) != 0
            || !host_same(&at->host, host))
            continue;
        best = at;
        least = d;
    }
    return best;
}
