/* activation_words.c: the words of the activations. */
#include "spec/spec.h"

const ActText act_text[ActCount] = {
#define ACT(name, text, gated, other, ...) { text, gated, Act##other },
#include "spec/fields/activations.h"
};
