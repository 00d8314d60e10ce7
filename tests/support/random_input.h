/* random_input.h: the input fields of random_form.h, which includes this file.
 */
#ifndef ATTNC_RANDOM_INPUT_H
#define ATTNC_RANDOM_INPUT_H

/* Rows for a product, or those of a small image. */
static inline const char *form_rows_of_numbers(RandomForm *f)
{
    return f->max_len[SideEncoder] > 5 && coin(&f->r)
             ? "width: 12, image: [2, 4, 6], patch: [2, 3]"
             : "width: 7";
}

/* Tokens, or rows of numbers, with or without convolutions in front. */
static inline void form_input(RandomForm *f)
{
    static const char *const words[] = {
#define ACT(name, text, gated, other, formula) text, gated,
#include "spec/fields/activations.h"
    };
    const int64_t n = sizeof words / sizeof *words / 2;

    say(&f->r, "input",
        !f->real
            ? "tokens"
            : TEXT(f, "{type: real, %s%s}",
                   WORD(&f->r, "", "class_token: true, ",
                        f->max_len[SideEncoder] < 2
                            ? "class_token: true, "
                            : "class_token: true, distillation_token: true, "),
                   coin(&f->r)
                       ? form_rows_of_numbers(f)
                       : TEXT(f, "%s, activation: %s",
                              WORD(&f->r,
                                   "width: 6, kernels: [3, 4], strides: [1, 2]",
                                   "width: 12, kernels: [5, 1, 2], strides: "
                                   "[2, 1, 2]"),
                              words[2 * pick(&f->r, n)])));
}

#endif
