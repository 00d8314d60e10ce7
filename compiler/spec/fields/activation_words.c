/* activation_words.c: the tables of activations and of forms of attention. */
#include "spec/spec.h"

const ActText act_text[ActCount] = {
#define ACT(name, text, gated, other, ...) { text, gated, Act##other },
#include "spec/fields/activations.h"
};

const ScoreForm score_form[] = {
#define SCORE(name, word, vector, flops, value, size, few, ...) \
    { word, vector, __VA_ARGS__ },
#include "spec/fields/score_forms.h"
};

const NormalizerForm normalizer_form[Normalizers] = {
#define NORMALIZER(name, word, plain, ...) { word, plain },
#include "spec/fields/score_forms.h"
};
