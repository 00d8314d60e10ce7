/* presets.c: words that --vary accepts although they are not values of the
 * field. Each names a layer in Table 1 of the paper. The neighbourhood has r =
 * 16 rows, the kernel k = 3. */
#include <string.h>

#include "sweep/sweep_parts.h"

static const struct {
    const char *key, *word, *set;
} presets[] = {
    { "layers.mix", "window", "layers.masking={window: 16}" },
    { "layers.mix", "separable",
      "layers.mix={type: convolution, depthwise: true, pointwise: true}" },
    { "layers.mix", "simple", "layers.mix={type: recurrent, cell: simple}" },
    { "layers.mix", "gru", "layers.mix={type: recurrent, cell: gru}" },
    { "layers.mix", "lstm", "layers.mix={type: recurrent, cell: lstm}" },
};

const char *preset_set(const char *key, const char *word)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (!strcmp(presets[i].key, key) && !strcmp(presets[i].word, word))
            return presets[i].set;
    return NULL;
}
