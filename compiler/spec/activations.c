/* activations.c: the words of the activations. */
#include "spec/spec.h"

const ActText act_text[ActCount] = {
#define ACT(name, text, gated, ...) { text, gated },
#include "spec/activations.h"
};
