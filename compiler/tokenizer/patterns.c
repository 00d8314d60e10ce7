/* patterns.c: the regular expressions with which known tokenizers split text,
 * and the equivalent step for each. */
#include <string.h>

#include "tokenizer/block.h"

#define APOSTROPHE "'s|'t|'re|'ve|'m|'ll|'d"
#define CL100K(digits) \
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CLIP APOSTROPHE "|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"

static const struct {
    const char *regex;
    int op;
} patterns[] = {
    { APOSTROPHE "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
      ATTN_STEP_GPT2 },
    { "(?i:" APOSTROPHE ")" CL100K("\\p{N}{1,3}"), ATTN_STEP_LLAMA3 },
    { "(?i:'s|'t|'re|'ve|'m|'ll|'d)" CL100K("\\p{N}"), ATTN_STEP_QWEN2 },
    { " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+",
      ATTN_STEP_BLOOM },
    { CLIP, ATTN_STEP_CLIP },
    { "<\\|startoftext\\|>|<\\|endoftext\\|>|" CLIP, ATTN_STEP_CLIP_MARKS },
    { "[0-9][0-9][0-9]", ATTN_STEP_THREE },
    { "\\s", ATTN_STEP_SPACE },
    { "\\p{N}", ATTN_STEP_DIGIT },
    { "\\w+|[^\\w\\s]+", ATTN_STEP_WORDS },
};

bool tokenizer_pattern(Text regex, int *op)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (strlen(patterns[i].regex) == regex.n
            && memcmp(patterns[i].regex, regex.at, regex.n) == 0) {
            *op = patterns[i].op;
            return true;
        }
    return false;
}
