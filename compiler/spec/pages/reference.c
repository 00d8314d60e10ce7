/* reference.c: the pages of the spec's reference: plain text for `attnc
 * fields`, Markdown for docs/spec*.md. Each page is a row of
 * reference_pages.h. */
#include "spec/fields/fields.h"

/* ---- texts ---- */
static const char written[] =
    "A spec is one YAML document whose top is a map. It is UTF-8 text of at most\n"
    "1 MiB, nested at most 32 deep, without anchors, aliases, tags, merge keys and\n"
    "directives. Write integers as 512, other numbers as 0.5 or 1e-6, and truth\n"
    "values as true or false.\n"
    "\n"
    "Keys are shown as paths: norm.place is the key `place` in the map `norm`. You\n"
    "may also write a path as one key, `norm.place: pre`. A key that is not listed\n"
    "here is an error. So is a value out of its range, and a key that has no\n"
    "meaning for the kind of model. If you use a key or a value of another tool,\n"
    "the error has a note with attnc's: for hidden_size it is d_model.\n"
    "\n"
    "`attnc new gpt` prints a spec to start from, with comments; `attnc new --list`\n"
    "lists the others. `attnc fields --format=schema` prints a JSON Schema. An\n"
    "editor with yaml-language-server completes and checks a spec if the first\n"
    "line is `# yaml-language-server: $schema=spec.schema.json` and that file is\n"
    "next to the spec.\n";

static const char overrides[] =
    "A key that sets others takes one value for all of them, or a map that names\n"
    "them: `N: 6` is `N: {encoder: 6, decoder: 6}`. One value replaces the whole\n"
    "map.\n"
    "\n"
    "With `extends`, attnc reads the other file first, and this file overrides it\n"
    "key by key. `--set key.path=value` overrides both. It takes several keys, as\n"
    "in `--set h=16,d_k=32`. `--set d_k=` removes the key, so that it has its\n"
    "default. If you change `kind`, or the type of positions, norm, input, head or\n"
    "penalty, attnc drops those keys of the extended file that no longer have a\n"
    "meaning.\n"
    "\n"
    "A default may depend on other keys, as d_k depends on d_model and h. If d_k is\n"
    "written and you override h, d_k keeps its value and attnc prints a warning.\n";

static const char masks[] =
    "A mask is `none`, or one or more of these parts. A row sees a key if all parts\n"
    "allow it.\n"
    "\n"
    "- `causal`: keys up to the row itself.\n"
    "- `{window: n}`: keys less than n rows away. Without `causal` these are on\n"
    "  both sides of the row.\n"
    "- `{block: n}`: keys in the same block of n rows.\n"
    "- `{file: mask.txt}`: keys with a 1 in the file. A line of the file is a\n"
    "  row and a column is a key; there are max_len of both. Blanks and commas may\n"
    "  stand between the digits.\n"
    "- `prefix`: widens `causal`, so that all rows see the rows of the prefix. The\n"
    "  length of the prefix comes with the input.\n"
    "\n"
    "A row that sees no key gets zeros from attention. A decoder's mask has\n"
    "`causal`.\n";

static const char patterns[] =
    "`layers` is a list of rows. Each row describes a layer: it is the spec, with\n"
    "the fields that the row overrides. {} changes nothing.\n"
    "\n"
    "    layers:\n"
    "      - {masking: [causal, {window: 512}], positions: {base: 10000}, repeat: 5}\n"
    "      - {masking: causal, positions: {base: 1000000}, repeat: 1}\n"
    "\n"
    "If rows have `repeat`, their sum must be N. Otherwise the rows are used in\n"
    "turn until there are N layers. One map in place of the list is for all layers.\n"
    "`layers: {encoder: .., decoder: ..}` has rows for each stack. `--set\n"
    "layers.mix=recurrent` sets a field in all rows.\n"
    "\n"
    "A row may set masking, positions that are not embeddings, h, h_kv, d_k, d_v,\n"
    "d_ff, mix, ffn, activation, attention, bias, residual, and norm except\n"
    "norm.final and norm.embedding. If all rows of a stack set a field, the spec\n"
    "itself does not need it. One value for a key that sets others replaces the\n"
    "whole map in a row, too: `positions: none` also drops positions.scores of the\n"
    "spec, and `positions.type: none` keeps it.\n"
    "\n"
    "Layers of a decoder that have the same window, h_kv, d_k and d_v share a\n"
    "cache. A model has at most 16 caches. The cache of a window holds only the\n"
    "rows that are still read, whatever max_len is.\n";

static const char mixes[] =
    "In the first part of a layer, `mix`, a row reads other rows of its sequence.\n"
    "\n"
    "- Attention scores each pair of a row and a key. A score is `attention.score`\n"
    "  times `attention.scale`, limited by `attention.softcap`, plus the positions\n"
    "  that are added to scores. `masking` chooses the keys, and\n"
    "  `attention.normalizer` turns their scores into weights.\n"
    "- A recurrent layer goes from row to row with a state.\n"
    "- A convolution reads the rows of its kernel.\n"
    "\n"
    "Recurrent layers and convolutions have no mask and no scores. No state and no\n"
    "kernel crosses the border of a sequence. A decoder keeps the state, or the\n"
    "last rows of the kernel, next to its cache. Decoding by steps gives the same\n"
    "bits as all rows at once.\n";

static const char latent[] =
    "With `attention.latent` each head's keys and values are computed from rows of\n"
    "`kv_rank` columns, and its queries from rows of `q_rank` columns. The products\n"
    "kv_down and q_down make these rows, each with a norm; the products k, v and q\n"
    "follow. The last `rope_dims` columns of a key are k_rope of the layer's rows,\n"
    "the same for all heads; those of a query are q_rope. Rotary positions turn\n"
    "only these columns.\n"
    "\n"
    "`bias.q` and `bias.k` add a bias to the products of the layer's rows, `bias.v`\n"
    "adds one to v. The cache holds keys and values of each head, as it does\n"
    "without latent attention. Cross-attention does not change.\n";

static const char experts[] =
    "With `ffn: experts` a product, the router, gives each row a score for each\n"
    "expert. The `ffn.chosen` experts with the largest scores are chosen; if scores\n"
    "are equal, the expert with the lower number is. Rows are sorted by expert, so\n"
    "that an expert's weights are read once for all of its rows, and are not read\n"
    "if it has no rows. The results of a row's experts are multiplied by the\n"
    "weights of `ffn.softmax` and added in the order of the choice.\n";

static const char real[] =
    "With `input: real` an encoder reads rows of `input.width` numbers. A product\n"
    "takes them to d_model, or convolutions do (`input.kernels`). With\n"
    "`input.strides`, convolutions make one row of several frames: frames f, f + 1\n"
    "and so on that become one row are one row of the input, side by side.\n"
    "\n"
    "A convolution with kernel k and stride s makes row i of the rows s i - p to\n"
    "s i - p + k - 1 that it reads, where p is (k - 1) / 2, rounded down. Rows\n"
    "before the first and after the last are zeros. No convolution reads a learned\n"
    "row (`input.class_token`), because learned rows are added before the rows of\n"
    "the last convolution. They count as rows of the encoder for positions, masks,\n"
    "pooling, max_len and `fix`.\n";

static const char formats[] =
    "`dtype` is the format in which matrices of weights are stored. Biases, norms\n"
    "and tables of positions are always f32.\n"
    "\n"
#define FORMAT(name, word, group, line, ending, shared, steps, gate, meaning, \
               ...)                                                           \
    "- `" word "`: " meaning "\n"
#define OWN_FORMAT(...)
#include "runtime/weights/format_rows.h"
    "\n"
    "A map in place of the word gives formats by canonical names (below):\n"
    "\n"
    "    dtype: {default: int4, logits: int8, embedding: int8, encoder.0: f32}\n"
    "    dtype: {default: int8, \"decoder.{i}.ffn.w2\": bf16}\n"
    "\n"
    "A key matches names that begin with its parts; {i} is any layer. If several\n"
    "keys match, attnc uses the one with the most parts. `embedding` stands for all\n"
    "tables of tokens and types, `logits` for the matrix that gives the logits, and\n"
    "`default` for everything that no key matches. Without `default` that is f32.\n"
    "If the default has 4 bits, embeddings and logits are int8 unless a key says\n"
    "otherwise.\n"
    "\n"
    "A table for both (`embedding.tie`) has the format of either key; two different\n"
    "formats are an error. A key that matches no matrix of the model is an error,\n"
    "too. `--set dtype.encoder.0=f32` changes one key, and `--set dtype=int8`\n"
    "replaces the map.\n";

static const char arithmetic[] =
    "`arithmetic` is how products are computed.\n"
    "\n"
    "- `f32`: weights are converted to f32, and rows stay as they are.\n"
    "- `int8`: each row is rounded to integers from -127 to 127, times a scale.\n"
    "  Sums are integers, which are exact.\n"
    "- `int15`: as int8, with integers from -16256 to 16256.\n"
    "- `bf16_dp`: each row is rounded to bf16, and sums are f32: of every two k, the\n"
    "  second product is added first. This is what the instruction vdpbf16ps\n"
    "  computes, which is twice as fast as f32 on AMD's cores since Zen 4. Others\n"
    "  get the same bits at about the speed of f32.\n"
    "- `bf16_amx`: as bf16_dp, in another order: of every 32 k, the even products\n"
    "  have a sum, the odd ones another, and the sum of both is added. This is what\n"
    "  the instruction tdpbf16ps of AMX computes, on Intel's servers since Sapphire\n"
    "  Rapids. Others get the same bits at about the speed of f32.\n"
    "- `bf16x3`: f32 in units of bf16. Each number of a row and of f32 weights is\n"
    "  split into two of bf16, which keep 16 of its 24 bits, and three products of\n"
    "  them have the order of bf16_amx. AMX computes them faster than f32; without\n"
    "  AMX they take two to three times as long.\n"
    "\n"
    "int8 and int15 need integer weights, bf16_dp and bf16_amx need bf16, bf16x3\n"
    "needs f32; products with other weights, and all other arithmetic, are f32. With\n"
    "integers, a row with an infinity or NaN gives NaN.\n";

static const char names[] =
    "`names` maps canonical names to names of the file: `encoder.{i}.ffn.w1:\n"
    "encoder.layers.{i}.fc1`. A row replaces the first parts of a name, and {i} is\n"
    "the number of the layer. If several rows match, attnc uses the one with the\n"
    "most parts. If the name of the file has no {i}, all layers share that tensor.\n"
    "\n"
    "In the place of a name a row may have a map:\n"
    "\n"
    "    encoder.{i}.self_attn: {tensor: \"h.{i}.qkv\", rows: [q, k, v]}\n"
    "    encoder.{i}: {transpose: true}\n"
    "    encoder.norm.bias: {fill: 0}\n"
    "    encoder.{i}.norm1.weight: {add: 1}\n"
    "\n"
    "- `tensor`: the name in the file.\n"
    "- `rows`, `columns`: the tensor holds several weights of the model, one above\n"
    "  the other or side by side. Their names continue the name of this row. A bias\n"
    "  has rows only. If names of the file have no .weight and .bias, the parts\n"
    "  have: [w1.bias, ..].\n"
    "- `groups`: the parts repeat this many times, and each group has an equal share\n"
    "  of every part. `heads` is one group for each head of keys and values.\n"
    "- `transpose`: matrices are stored as [in, out]. `rows` and `columns` then\n"
    "  count in the matrix turned back. It holds for all names that begin with the\n"
    "  name of this row, unless a longer row says otherwise.\n"
    "- `scale`, `add`: an element w of the file becomes scale w + add, rounded\n"
    "  once, in weights and biases. Both hold for the same names as `transpose`.\n"
    "- `fill`: the file has no such tensor, and all elements are this number.\n"
    "\n"
    "The shape of a tensor may have 1s in front, and a matrix may have its columns\n"
    "in several dimensions: [d, c, p, p] is [d, c p p].\n"
    "\n"
    "Matrices that are one tensor (`embedding.tie`) have the name of the target, or\n"
    "of the source if the target is not among them. Other weights may not share\n"
    "elements of the file. A row that matches no weight of the model is an error,\n"
    "unless it comes from `extends`; if an option --set is the reason, it is a\n"
    "warning. `attnc tensors` lists the weights of a model, and proposes rows if\n"
    "the file has other names.\n";

static const char canonical[] =
    "Each name below has .weight. Projections, norms and products of networks have\n"
    ".bias, too. {s} is encoder or decoder. The last five names belong to kind\n"
    "attention.\n"
    "\n"
    "- norm1 is the norm of self-attention, norm2 of the feed-forward network,\n"
    "  norm3 of cross-attention. norm follows the last layer. The names with _after\n"
    "  are the second norms of norm.place both.\n"
    "- q_norm.{e} and k_norm.{e} are the norms of head e with norm.qk each.\n"
    "- scale1 to scale3 are the numbers of residual.learned, with the numbers of\n"
    "  the norms.\n"
    "- A gated network is w2 (f(w1 x) * (w3 x)).\n"
    "\n";

/* ---- pages ---- */
typedef struct {
    Arena *arena;
    FILE *out;
    bool markdown;
} Page;

static void print_title(const Page *p, const char *mark, const char *title)
{
    if (p->markdown)
        fprintf(p->out, "%s %s\n\n", mark, title);
    else
        fprintf(p->out, "%s%s%s\n\n", paint(p->out, PaintHead), title,
                paint(p->out, PaintEnd));
}

static void print_section(const Page *p, const char *title, const char *text)
{
    fputc('\n', p->out);
    print_title(p, "##", title);
    fputs(text, p->out);
}

static void print_list_of_pages(const Page *p)
{
    print_section(p, "Pages", "");
#define REFERENCE(id, name, title, about) \
    fprintf(p->out, p->markdown ? "- [%s.md](" name ".md): %s\n" \
                                : "- %s: %s\n", name, about);
#include "spec/reference_pages.h"
}

/* The sections of the page of keys. Each lists its top-level keys;
 * print_field_rows() prints the keys below them too. */
static const struct {
    const char *title, *const keys[10];
} subjects[] = {
    { "The model", { "attnc", "extends", "name", "kind" } },
    { "Sizes",
      { "d_model", "h", "h_kv", "d_k", "d_v", "d_ff", "N", "max_len" } },
    { "Constant sizes", { "fix" } },
    { "Vocabulary and prompts", { "vocab", "prompts", "prompt", "pair" } },
    { "Input and embeddings", { "input", "embedding" } },
    { "Positions", { "positions" } },
    { "Attention", { "masking", "attention", "projections" } },
    { "Recurrent layers and convolutions", { "mix" } },
    { "Norms, residuals and biases",
      { "norm", "residual", "parallel", "bias" } },
    { "Feed-forward networks and experts", { "activation", "ffn" } },
    { "Layers that differ", { "layers" } },
    { "Logits and head", { "logits", "head" } },
    { "Search", { "search" } },
    { "Conversations", { "chat" } },
    { "Weights",
      { "dtype", "arithmetic", "cache", "weights", "names", "unused" } },
};

static void print_Keys(const Page *p)
{
    fputs(written, p->out);
    print_list_of_pages(p);
    print_section(p, "Several keys at once, and overrides", overrides);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        print_section(p, subjects[i].title, "");
        print_field_rows(p->arena, p->out, p->markdown, subjects[i].keys);
    }
}

static void print_Layers(const Page *p)
{
    print_title(p, "##", "Masks");
    fputs(masks, p->out);
    print_section(p, "Patterns of layers", patterns);
    print_section(p, "How rows are mixed", mixes);
    print_section(p, "Latent attention", latent);
    print_section(p, "Experts", experts);
    print_section(p, "Encoders of numbers", real);
}

static void print_Formulas(const Page *p)
{
    print_formulas(p->out);
}

static void print_Weights(const Page *p)
{
    print_title(p, "##", "Formats of weights");
    fputs(formats, p->out);
    print_section(p, "Arithmetic", arithmetic);
    print_section(p, "Names of weights", names);
    print_section(p, "Canonical names", canonical);
    for (int i = 0; weight_names[i]; i++)
        fprintf(p->out, "    %s\n", weight_names[i]);
}

static const struct {
    const char *name, *title;
    void (*print)(const Page *p);
} pages[] = {
    [ReferenceAll] = { 0 },
#define REFERENCE(id, name, title, about) \
    [Reference##id] = { name, title, print_##id },
#include "spec/reference_pages.h"
};

void spec_print_page(FILE *out, bool markdown, ReferencePage page)
{
    const Page p = { arena_new(), out, markdown };

    for (int i = 1; i < (int)(sizeof pages / sizeof *pages); i++) {
        if (page != ReferenceAll && i != (int)page)
            continue;
        if (page == ReferenceAll && i > 1)
            fputc('\n', out);
        print_title(&p, "#", pages[i].title);
        if (markdown)
            fprintf(out,
                    "This page is printed by `attnc fields --page=%s "
                    "--format=md`.\n\n",
                    pages[i].name);
        pages[i].print(&p);
    }
    arena_free(p.arena);
}
