/* experts.c: chooses the experts of a row, sends rows to them and combines
 * their results, with the operations of vector.c or scalar.c. Ids and places
 * are int32_t in memory of floats. A row's result depends on this row alone. */

//: get_int
static inline int64_t get_int(const float *at)
{
    union { float f; int32_t i; } u;
    u.f = *at;
    return u.i;
}

//: put_int
static inline void put_int(float *at, int64_t i)
{
    union { float f; int32_t i; } u;
    u.i = (int32_t)i;
    *at = u.f;
}

//: kernel row_softmax_rows needs: softmax_row
static void row_softmax_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                             int64_t rows, int64_t d)
{
    for (int64_t i = 0; i < rows; i++)
        softmax_row(y + i * ldy, x + i * ldx, d);
}

//: kernel row_scale_rows needs: scale_rows
/* Multiplies each row by a factor of its own. */
static void row_scale_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                           const float *by, int64_t ldb, int64_t rows,
                           int64_t d)
{
    for (int64_t i = 0; i < rows; i++)
        scale_rows(y + i * ldy, ldy, x + i * ldx, ldx, 1, d, by[i * ldb]);
}

//: next_best
/* Returns the column after `last`, whose value is *value, by falling x (plus b
 * unless NULL), then by rising column; -1 at the end. Sets *value. Begin with
 * *value = INFINITY and last = -1. */
static int64_t next_best(const float *x, const float *b, int64_t n,
                         int64_t last, float *value)
{
    int64_t best = -1;
    float most = 0.0f;
    for (int64_t i = 0; i < n; i++) {
        const float s = b ? x[i] + b[i] : x[i];
        const int64_t behind = s < *value || (s == *value && i > last);
        if (behind && (best < 0 || s > most)) {
            best = i;
            most = s;
        }
    }
    *value = most;
    return best;
}

//: group_score needs: next_best
static float group_score(const float *x, const float *b, int64_t n,
                         int64_t pairs)
{
    float best = INFINITY, next;
    const int64_t first = next_best(x, b, n, -1, &best);
    next = best;
    if (pairs)
        next_best(x, b, n, first, &next);
    return pairs ? best + next : best;
}

//: next_group needs: group_score
/* Returns the best group of n columns that is not in the bits of `taken`. */
static int64_t next_group(const float *x, const float *b, int64_t n,
                          int64_t groups, int64_t pairs, uint64_t taken)
{
    int64_t best = -1;
    float most = 0.0f;
    for (int64_t g = 0; g < groups; g++) {
        if (taken >> g & 1)
            continue;
        const float s = group_score(x + g * n, b ? b + g * n : b, n, pairs);
        if (best < 0 || s > most) {
            best = g;
            most = s;
        }
    }
    return best;
}

//: kernel choose_rows needs: next_best put_int
/* Sets ids to the k largest of d numbers, the largest first. b may be NULL. */
static void choose_rows(float *ids, int64_t ldi, const float *x, int64_t ldx,
                        const float *b, int64_t rows, int64_t d, int64_t k)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t last = -1;
        float value = INFINITY;
        for (int64_t j = 0; j < k; j++) {
            const int64_t next = next_best(x, b, d, last, &value);
            last = next < 0 ? 0 : next; /* only NaN is left */
            put_int(ids + j, last);
        }
        ids += ldi;
        x += ldx;
    }
}

//: kernel choose_of_groups needs: next_best next_group put_int
/* Works like choose_rows(), in the best `some` of up to 64 column groups. */
static void choose_of_groups(float *ids, int64_t ldi, const float *x,
                             int64_t ldx, const float *b, int64_t rows,
                             int64_t d, int64_t k, int64_t groups,
                             int64_t some, int64_t pairs)
{
    const int64_t n = d / groups;
    for (int64_t i = 0; i < rows; i++) {
        uint64_t taken = 0;
        for (int64_t g = 0; g < some; g++)
            taken |= (uint64_t)1 << next_group(x, b, n, groups, pairs, taken);
        int64_t last = -1;
        float value = INFINITY;
        for (int64_t j = 0; j < k; j++) {
            int64_t best = -1;
            float most = 0.0f;
            for (int64_t g = 0; g < groups; g++) {
                const int64_t at = g * n;
                float s = value;
                if (!(taken >> g & 1))
                    continue;
                const int64_t c = next_best(x + at, b ? b + at : b, n,
                                            last - at, &s);
                if (c >= 0 && (best < 0 || s > most)) {
                    best = at + c;
                    most = s;
                }
            }
            last = best < 0 ? 0 : best;
            value = most;
            put_int(ids + j, last);
        }
        ids += ldi;
        x += ldx;
    }
}

//: kernel weigh_rows needs: get_int softmax_row
/* Gathers the numbers of the ids, applies softmax if `softmax`, divides them by
 * their sum if `normalize`, and multiplies them by s. */
static void weigh_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                       const float *ids, int64_t ldi, int64_t rows, int64_t k,
                       float s, int64_t softmax, int64_t normalize)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0.0f;
        for (int64_t j = 0; j < k; j++)
            y[j] = x[get_int(ids + j)];
        if (softmax)
            softmax_row(y, y, k);
        for (int64_t j = 0; j < k; j++)
            sum += y[j];
        for (int64_t j = 0; j < k; j++)
            y[j] = (normalize ? y[j] / (sum + 1e-20f) : y[j]) * s;
        x += ldx;
        y += ldy;
        ids += ldi;
    }
}

//: kernel sort_routes needs: get_int put_int
/* Sorts rows * k choices by their ids, below n: a stable counting sort. end[e]
 * is where those of e end, place[i * k + j] where choice j of row i is. */
static void sort_routes(float *end, float *place, const float *ids,
                        int64_t ldi, int64_t rows, int64_t k, int64_t n)
{
    int64_t sum = 0;
    for (int64_t e = 0; e < n; e++)
        put_int(end + e, 0);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++) {
            float *count = end + get_int(ids + i * ldi + j);
            put_int(count, get_int(count) + 1);
        }
    for (int64_t e = 0; e < n; e++) {
        const int64_t count = get_int(end + e);
        put_int(end + e, sum);
        sum += count;
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++) {
            float *next = end + get_int(ids + i * ldi + j);
            const int64_t at = get_int(next);
            put_int(place + i * k + j, at);
            put_int(next, at + 1);
        }
}

//: kernel expert_rows needs: get_int
/* Returns how many of the sorted rows row .. row + rows - 1 are expert e's.
 * Sets *before to how many precede them. */
static int64_t expert_rows(const float *end, int64_t e, int64_t row,
                           int64_t rows, int64_t *before)
{
    int64_t first = e > 0 ? get_int(end + e - 1) - row : -row;
    int64_t last = get_int(end + e) - row;
    first = first < 0 ? 0 : first;
    last = last > rows ? rows : last;
    *before = first;
    return last > first ? last - first : 0;
}

//: kernel spread_rows needs: get_int copy_rows
/* Copies each row to the k places of its choices. */
static void spread_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                        const float *place, int64_t rows, int64_t k, int64_t d)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++)
            copy_rows(y + get_int(place + i * k + j) * ldy, ldy, x + i * ldx,
                      ldx, 1, d);
}

//: kernel combine_rows needs: get_int v_load v_store v_splat v_fma fma1
/* Adds up the rows at a row's places, each times its weight, in order. */
static void combine_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                         const float *by, int64_t ldb, const float *place,
                         int64_t rows, int64_t k, int64_t d)
{
    const int64_t vector_end = d / W * W;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < k; j++) {
            const float *from = x + get_int(place + j) * ldx;
            const v s = v_splat(by[j]);
            if (j == 0) {
                for (int64_t c = 0; c < vector_end; c += W)
                    v_store(y + c, s * v_load(from + c));
                for (int64_t c = vector_end; c < d; c++)
                    y[c] = by[j] * from[c];
                continue;
            }
            for (int64_t c = 0; c < vector_end; c += W)
                v_store(y + c, v_fma(s, v_load(from + c), v_load(y + c)));
            for (int64_t c = vector_end; c < d; c++)
                y[c] = fma1(by[j], from[c], y[c]);
        }
        y += ldy;
        by += ldb;
        place += k;
    }
}
