/* tree_shaker.h: the tree shaker extracts from C files the functions, types and
 * tables that a text names, and those that these name in turn. The files must
 * be laid out as in runtime/: everything outside of functions begins in the
 * first column. */
#ifndef ATTNC_TREE_SHAKER_H
#define ATTNC_TREE_SHAKER_H

#include "emit/text/writer.h"

typedef struct TreeShaker TreeShaker;

TreeShaker *shaker_new(Arena *a);
/* Adds a file to a part, a number that the caller chooses. The text must
 * outlive `c`. */
void shaker_add(TreeShaker *c, int part, const char *text, size_t n);
/* True if a file defines or declares the name; a type's is "struct NAME". */
bool shaker_has(const TreeShaker *c, const char *name);
/* Marks everything that the text names as needed. */
void shaker_need(TreeShaker *c, const char *text, size_t n);
/* Omits the prototypes of functions that come before all of their calls. Called
 * when everything needed is marked. The parts must be put in the order in which
 * their files were added. */
void shaker_omit_prototypes(TreeShaker *c);
/* Passes the needed pieces of a part, with their comments, to put(with, text,
 * end). */
void shaker_put(const TreeShaker *c, int part,
                void (*put)(void *with, const char *text, const char *end),
                void *with);

#endif
