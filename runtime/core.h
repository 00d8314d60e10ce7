/* core.h: what a compiled model is, and the decoder that drives it.
 *
 * Plain C11 without malloc or stdio. The headers below and their sources are
 * linked into attnc and pasted whole into emitted files, so both run one
 * decoder. All memory is the caller's.                                      */
#ifndef ATTN_CORE_3
#define ATTN_CORE_3

/* What is for models with a vocabulary stands between #if ATTN_HAS_TEXT, #else
 * and #endif: an emitted file has the part that is for its model. */
#define ATTN_HAS_TEXT 1
/* So does what is for models with lengths that are constants of their code, for
 * those whose spec says how turns of a conversation are told apart, .. */
#define ATTN_HAS_FIXED 1
#define ATTN_HAS_THREADS 1
#define ATTN_HAS_CHAT 1
/* .. and for attnc itself: no emitted file has that. */
#define ATTN_IN_ATTNC 1

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/batch.h"
#include "runtime/base/compiled_model.h"
#include "runtime/base/generate.h"
#include "runtime/text/growing_text.h"
#include "runtime/handle/handle.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/weights/packed.h"
#include "runtime/search/score.h"
#include "runtime/search/search.h"
#include "runtime/search/stream.h"
#include "runtime/text/text.h"
#include "runtime/text/encoding.h"
#include "runtime/text/decode.h"

/* What emitted files export, without the model: the rows say what each does. */
#define MODEL const struct attn_model *m
#define P(type, name) type name
#define REQUEST(type, ...) const struct type *r
#define EXPORT(when, result, name, parameters, comment)                        \
    ATTN_API result attn_##name parameters;
#include "exports.h"

#endif
