/* split_steps.h: the steps that split a text into words, one row each, with the
 * columns of steps.h. split.c makes a table of them. */
#ifndef STEP
#define STEP(...)
#endif

/* clang-format off */
STEP(ATTN_STEP_GPT2, split_check, 0, 0, split_gpt2)
STEP(ATTN_STEP_LLAMA3, split_check, 0, 0, split_llama3)
STEP(ATTN_STEP_QWEN2, split_check, 0, 0, split_qwen2)
STEP(ATTN_STEP_BLOOM, split_check, 0, 0, split_bloom)
STEP(ATTN_STEP_CLIP, split_check, 0, 0, split_clip)
STEP(ATTN_STEP_CLIP_MARKS, split_check, 0, 0, split_clip)
STEP(ATTN_STEP_THREE, 0, 0, 0, split_three)
STEP(ATTN_STEP_TEXT, split_check_text, 0, 0, split_text)
STEP(ATTN_STEP_SPACE, split_check, 0, 0, split_spaces)
STEP(ATTN_STEP_PUNCTUATION, split_check, 0, 0, split_punctuation)
STEP(ATTN_STEP_DIGIT, split_check, 0, 0, split_digits)
STEP(ATTN_STEP_DIGIT_BYTES, 0, 0, 0, split_digit_bytes)
STEP(ATTN_STEP_WORDS, split_check, 0, 0, split_words)
STEP(ATTN_STEP_PREFIX, split_check_text, split_most_prefix, split_prefix, 0)
STEP(ATTN_STEP_METASPACE, split_check_text, split_most_metaspace,
     split_metaspace, 0)
/* clang-format on */

#undef STEP
