/* schema.h: compiles a JSON schema to a grammar in GBNF whose texts are JSON
 * that the schema accepts.
 *
 * In:  the text of a schema.
 * Out: the text of a grammar, for runtime/text/gbnf.h. */
#ifndef ATTNC_SCHEMA_H
#define ATTNC_SCHEMA_H

#include "base/base.h"

/* Appends the grammar of the schema in a file to `to`. Returns false with a
 * message that has a place in the file, or the JSON pointer to the part of the
 * schema that is wrong. */
bool schema_grammar(Buffer *to, const File *f, Fault *why);

#endif
