/* plain_mixing.c: computes experts, recurrent cells, convolutions and pooling
 * in plain C; see plain.c. */

//: kernel choose
/* Selects the columns of the d largest of x + bias, the largest first. Of equal
 * ones it takes the lower column. bias may be NULL. */
static void choose(int *ids, const float *x, const float *bias, int rows,
                   int d_in, int d)
{
    for (int i = 0; i < rows; i++, x += d_in, ids += d)
        for (int k = 0; k < d; k++) {
            int best = -1;
            float most = 0.0f;

            for (int j = 0; j < d_in; j++) {
                const float score = bias ? x[j] + bias[j] : x[j];
                int taken = 0;

                for (int l = 0; l < k; l++)
                    taken |= ids[l] == j;
                if (!taken && (best < 0 || score > most)) {
                    best = j;
                    most = score;
                }
            }
            ids[k] = best;
        }
}

//: kernel choose_of_groups
/* Does the same in the best `some` of `groups` groups of columns only. A group
 * is scored by its best column or, with pairs, by the sum of its best two. */
static void choose_of_groups(int *ids, const float *x, const float *bias,
                             int rows, int d_in, int d, int groups, int some,
                             int pairs)
{
    const int n = d_in / groups;

    for (int i = 0; i < rows; i++, x += d_in, ids += d) {
        int open[64] = { 0 };

        for (int k = 0; k < some; k++) {
            int best = -1;
            float most = 0.0f;

            for (int g = 0; g < groups; g++) {
                float one = -INFINITY, two = -INFINITY;

                for (int j = g * n; j < (g + 1) * n; j++) {
                    const float score = bias ? x[j] + bias[j] : x[j];

                    if (score > one) {
                        two = one;
                        one = score;
                    } else if (score > two) {
                        two = score;
                    }
                }
                if (pairs)
                    one = one + (n > 1 ? two : 0.0f);
                if (!open[g] && (best < 0 || one > most)) {
                    best = g;
                    most = one;
                }
            }
            open[best] = 1;
        }
        for (int k = 0; k < d; k++) {
            int best = -1;
            float most = 0.0f;

            for (int j = 0; j < d_in; j++) {
                const float score = bias ? x[j] + bias[j] : x[j];
                int taken = !open[j / n];

                for (int l = 0; l < k; l++)
                    taken |= ids[l] == j;
                if (!taken && (best < 0 || score > most)) {
                    best = j;
                    most = score;
                }
            }
            ids[k] = best;
        }
    }
}

//: kernel weigh needs: softmax_row
/* Reads the numbers at ids, applies softmax or divides them by their sum if
 * these flags are set, and multiplies them by `by`. */
static void weigh(float *y, const float *x, const int *ids, int rows, int d_in,
                  int d, int softmax, int normalize, float by)
{
    for (int i = 0; i < rows; i++, x += d_in, ids += d, y += d) {
        float sum = 0.0f;

        for (int j = 0; j < d; j++)
            y[j] = x[ids[j]];
        if (softmax)
            softmax_row(y, y, d);
        for (int j = 0; j < d; j++)
            sum += y[j];
        for (int j = 0; j < d; j++)
            y[j] = (normalize ? y[j] / (sum + 1e-20f) : y[j]) * by;
    }
}

//: kernel spread
/* Copies each row once for each of its experts. */
static void spread(float *y, const float *x, int rows, int chosen, int d)
{
    for (int i = 0; i < rows * chosen; i++)
        for (int j = 0; j < d; j++)
            y[i * d + j] = x[i / chosen * d + j];
}

//: kernel combine
/* Sums the results of a row's experts, each times its weight. */
static void combine(float *y, const float *x, const float *b, int rows,
                    int chosen, int d)
{
    for (int i = 0; i < rows; i++, b += chosen, x += chosen * d)
        for (int j = 0; j < d; j++) {
            float sum = b[0] * x[j];

            for (int k = 1; k < chosen; k++)
                sum = fmaf(b[k], x[k * d + j], sum);
            y[i * d + j] = sum;
        }
}

//: kernel tanh_cell needs: tanh1
/* Computes the next state h [Elman 1990]. u is the product of the last h. */
static void tanh_cell(float *h, const float *x, const float *u, int d)
{
    for (int j = 0; j < d; j++)
        h[j] = tanh1(x[j] + u[j]);
}

//: kernel relu_cell
/* Computes the next state h [Elman 1990]. u is the product of the last h. */
static void relu_cell(float *h, const float *x, const float *u, int d)
{
    for (int j = 0; j < d; j++)
        h[j] = 0.0f > x[j] + u[j] ? 0.0f : x[j] + u[j];
}

//: kernel gru_cell needs: sigmoid1 tanh1
/* Computes the next state h by gates r, z, n [Cho et al. 2014]. u has the
 * products of the last h. */
static void gru_cell(float *h, const float *x, const float *u, int d)
{
    for (int j = 0; j < d; j++) {
        const float r = sigmoid1(x[j] + u[j]);
        const float z = sigmoid1(x[d + j] + u[d + j]);
        const float n = tanh1(fmaf(r, u[2 * d + j], x[2 * d + j]));

        h[j] = fmaf(z, h[j] - n, n);
    }
}

//: tanh_gated needs: exp1 exp_rest
/* Returns tanh(x) / (1 + e^-u), by one division. */
static float tanh_gated(float u, float x)
{
    float power, rest, m, below;

    x = -10.0f > x ? -10.0f : x;
    x = 10.0f < x ? 10.0f : x;
    rest = exp_rest(x + x, &power);
    m = fmaf(rest, power, power - 1.0f);
    below = m + 2.0f;
    return m / fmaf(below, exp1(-(-88.0f > u ? -88.0f : u)), below);
}

//: kernel lstm_cell needs: sigmoid1 tanh_gated
/* Computes the next state h, and the cell state c behind it, by gates i, f, g,
 * o [Hochreiter and Schmidhuber 1997]. u has the products of the last h. */
static void lstm_cell(float *h, const float *x, const float *u, int d)
{
    float *c = h + d;

    for (int j = 0; j < d; j++) {
        const float i = x[j] + u[j], f = x[d + j] + u[d + j];
        const float g = x[2 * d + j] + u[2 * d + j];
        const float o = x[3 * d + j] + u[3 * d + j];

        c[j] = fmaf(sigmoid1(f), c[j], tanh_gated(i, g));
        h[j] = tanh_gated(o, c[j]);
    }
}

//: kernel row_at
/* Returns row i of x or of the `kept` rows before it, NULL if there is none. */
static const float *row_at(const float *x, int rows, int i, const float *before,
                           int kept, int d)
{
    if (i >= 0)
        return i < rows ? x + i * d : NULL;
    return before ? before + (kept + i) * d : NULL;
}

//: kernel taps needs: row_at
/* Copies, for each row i, the rows first + dilation t + stride i of x for all
 * taps t, side by side (im2col). Rows outside are zeros. */
static void taps(float *y, const float *x, const float *before, int rows,
                 int rows_in, int kept, int d_tap, int n_taps, int first,
                 int dilation, int stride)
{
    for (int i = 0; i < rows; i++)
        for (int t = 0; t < n_taps; t++) {
            const float *x_t = row_at(x, rows_in,
                                      first + dilation * t + stride * i,
                                      before, kept, d_tap);

            for (int j = 0; j < d_tap; j++)
                *y++ = x_t ? x_t[j] : 0.0f;
        }
}

//: kernel depthwise needs: row_at
/* Convolves each column j by itself: sums w[j, t] times row first + dilation t
 * + i over t, and adds a bias. Rows outside are zeros. */
static void depthwise(float *y, const float *x, const float *before,
                      const float *w, const float *bias, int rows, int kept,
                      int d, int n_taps, int first, int dilation)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++) {
            float sum = 0.0f;

            for (int t = 0; t < n_taps; t++) {
                const float *x_t = row_at(x, rows, first + dilation * t + i,
                                          before, kept, d);

                sum = fmaf(x_t ? x_t[j] : 0.0f, w[j * n_taps + t], sum);
            }
            y[i * d + j] = bias ? sum + bias[j] : sum;
        }
}

//: kernel keep_rows
/* Keeps the last `kept` rows for the next call. */
static void keep_rows(float *before, const float *x, int rows, int kept, int d)
{
    for (int i = 0; i < kept; i++)
        for (int j = 0; j < d; j++)
            before[i * d + j] = rows + i < kept
                                  ? before[(rows + i) * d + j]
                                  : x[(rows + i - kept) * d + j];
}

//: kernel patches
/* Writes each patch of an image as a row, channel by channel. The first `first`
 * rows, and rows beyond the image, are zeros. */
static void patches(float *y, const float *x, int rows, int first,
                    int n_channels, int tall, int wide, int across)
{
    const int lines = (rows - first) / across * tall;

    for (int i = -first; i < rows - first; i++) {
        const int line = i / across * tall, column = i % across * wide;

        for (int k = 0; k < n_channels; k++)
            for (int l = 0; l < tall; l++)
                for (int c = 0; c < wide; c++) {
                    const int at = (k * lines + line + l) * across * wide
                                 + column + c;

                    *y++ = i < 0 || line >= lines
                             ? 0.0f
                             : x[first * n_channels * tall * wide + at];
                }
    }
}

//: kernel pool_sum
/* Computes each column's sum. Adds up sums of 64 rows. */
static void pool_sum(float *y, const float *x, int rows, int d)
{
    for (int j = 0; j < d; j++) {
        float total = 0.0f;

        for (int from = 0; from < rows; from += 64) {
            float sum = 0.0f;

            for (int i = from; i < rows && i < from + 64; i++)
                sum += x[i * d + j];
            total += sum;
        }
        y[j] = total;
    }
}

//: kernel pool_mean needs: pool_sum
/* Computes each column's mean. */
static void pool_mean(float *y, const float *x, int rows, int d)
{
    pool_sum(y, x, rows, d);
    for (int j = 0; j < d; j++)
        y[j] = y[j] / (float)rows;
}

//: kernel pool_max
/* Finds the largest number of each column. */
static void pool_max(float *y, const float *x, int rows, int d)
{
    for (int j = 0; j < d; j++) {
        y[j] = -INFINITY;
        for (int i = 0; i < rows; i++)
            y[j] = x[i * d + j] > y[j] ? x[i * d + j] : y[j];
    }
}
