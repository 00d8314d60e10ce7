/* core.h: the interface of a compiled model, and the decoder that drives it.
 *
 * Plain C11 without malloc or stdio. The headers below and their sources are
 * linked into attnc and copied into emitted files, so both run the same
 * decoder. The caller provides all memory.                                  */
#ifndef ATTN_CORE_3
#define ATTN_CORE_3

/* Code that only some models need is between #if ATTN_HAS_... and #else or
 * #endif; an emitted file contains one of the branches. These models have a
 * vocabulary, rows for texts, constant lengths, threads, turns of a
 * conversation, queries and documents (or pairs that become one text), a
 * search, or several ranks. */
#define ATTN_HAS_TEXT 1
#define ATTN_HAS_EMBED 1
#define ATTN_HAS_FIXED 1
#define ATTN_HAS_THREADS 1
#define ATTN_HAS_CHAT 1
#define ATTN_HAS_TASKS 1
#define ATTN_HAS_SEARCH 1
#define ATTN_HAS_RANKS 1
/* Code for attnc itself, which no emitted file contains; and for attn.c. */
#define ATTN_IN_ATTNC 1
#define ATTN_IS_BESIDE 0

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/batch.h"
#include "runtime/base/compiled_model.h"
#include "runtime/base/comm.h"
#include "runtime/base/generate.h"
#include "runtime/text/growing_text.h"
#include "runtime/handle/handle.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/weights/packed.h"
#include "runtime/search/score.h"
#include "runtime/search/search.h"
#include "runtime/search/queue.h"
#include "runtime/search/stream.h"
#include "runtime/text/chat.h"
#include "runtime/text/text_task.h"
#include "runtime/text/text.h"
#include "runtime/text/encoding.h"
#include "runtime/text/decode.h"
#include "runtime/text/gbnf.h"
#include "runtime/text/grammar.h"

/* Prototypes of the functions that emitted files export, with the model as an
 * additional parameter; exports.h describes them. */
#define MODEL const struct attn_model *m
#define P(type, name) type name
#define REQUEST(type, ...) const struct type *r
#define EXPORT(when, result, name, parameters, comment)                        \
    ATTN_API result attn_##name parameters;
#include "exports.h"

#endif
