/* search_settings.h: applies the options to the search settings of the spec. */
#ifndef ATTN_SEARCH_SETTINGS_1
#define ATTN_SEARCH_SETTINGS_1

#include "runtime/base/generate.h"
#include "settings.h"

/* Returns the temperature; 0 means always the most likely token. */
ATTN_API float attn_settings_temperature(const struct attn_settings *s);
/* Returns the kind of --draft, such as ATTN_DRAFT_MODEL for the name of a
 * spec. */
ATTN_API int64_t attn_settings_draft(const struct attn_settings *s);
/* Applies the options to `o`, the spec's search settings. `stated` is true if
 * the spec sets the beam. */
ATTN_API void attn_settings_apply(const struct attn_settings *s, int stated,
                                  int64_t seed, struct attn_search_options *o);
/* Returns a message about options that cannot be combined, or NULL if all can.
 * `use` is ATTN_FOR_LINES or ATTN_FOR_PROMPT. */
ATTN_API const char *attn_settings_wrong(const struct attn_settings *s,
                                         int use);

#endif
