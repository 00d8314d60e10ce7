/* search_settings.h: the search as options set it. */
#ifndef ATTN_SEARCH_SETTINGS_1
#define ATTN_SEARCH_SETTINGS_1

#include "runtime/base/generate.h"
#include "settings.h"

/* 0: the best token is taken. */
ATTN_API double attn_settings_temperature(const struct attn_settings *s);
/* Changes the search that the spec asks for, and `o` is. stated: the spec says
 * how wide its beam is.                                                     */
ATTN_API void attn_settings_apply(const struct attn_settings *s, int stated,
                                  int64_t seed, struct attn_search_options *o);
/* What cannot be done together with the others; NULL: all can. use:
 * ATTN_FOR_LINES, ATTN_FOR_PROMPT.                                          */
ATTN_API const char *attn_settings_wrong(const struct attn_settings *s,
                                         int use);

#endif
