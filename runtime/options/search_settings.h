/* search_settings.h: applies options to the search. */
#ifndef ATTN_SEARCH_SETTINGS_1
#define ATTN_SEARCH_SETTINGS_1

#include "runtime/base/generate.h"
#include "settings.h"

/* Returns the temperature; 0: always take the best token. */
ATTN_API double attn_settings_temperature(const struct attn_settings *s);
/* Changes `o`, the search of the spec, by the options. stated: the spec states
 * its beam. */
ATTN_API void attn_settings_apply(const struct attn_settings *s, int stated,
                                  int64_t seed, struct attn_search_options *o);
/* Returns the options that cannot be combined with the others; NULL: none. use:
 * ATTN_FOR_LINES or ATTN_FOR_PROMPT. */
ATTN_API const char *attn_settings_wrong(const struct attn_settings *s,
                                         int use);

#endif
