/* reference_pages.h: the pages of the spec's reference, one row each:
 *
 *     REFERENCE(id, "name", "title", "what it describes")
 *
 * `attnc fields --page=NAME --format=md` prints docs/NAME.md. In
 * spec/pages/reference.c, print_id() prints the text below the title. Define
 * REFERENCE before you include this file, which undefines it. spec.h,
 * reference.c and the table of options include it. */

#ifndef REFERENCE
#define REFERENCE(...)
#endif

/* clang-format off */
REFERENCE(Keys, "spec", "The spec",
          "how a spec is written, and its keys by subject")
REFERENCE(Layers, "spec-layers", "Layers of a spec",
          "masks, layers that differ, and how a layer mixes rows")
REFERENCE(Formulas, "spec-formulas", "What a model computes",
          "the exact formulas, for readers who reimplement them")
REFERENCE(Weights, "spec-weights", "Weights of a spec",
          "formats of weights, and their names in a file")
#undef REFERENCE
