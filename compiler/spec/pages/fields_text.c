/* fields_text.c: prints the table of fields as the format's reference: plain
 * text for `attnc fields`, Markdown for docs/spec.md. */
#include <string.h>

#include "base/put_json.h"
#include "spec/fields/fields.h"

static const char about[] =
    "A spec is one YAML map: keys and values in UTF-8, at most 1 MiB, nested at\n"
    "most 32 deep, one document, without anchors, aliases, tags, merge keys and\n"
    "directives. Integers are written as 512, other numbers as 0.5 or 1e-6,\n"
    "truth as true or false. A key that is not listed here is an error, as is a\n"
    "value out of its range or one that has no meaning for the kind of model.\n"
    "Keys are shown as paths: norm.place is the key `place` in the map `norm`; a\n"
    "path may be written as one key too, norm.place: pre. A key or a value that\n"
    "other tools use is an error, whose note has ours: hidden_size is d_model.\n"
    "`attnc new gpt` prints a spec to start from, with comments; `attnc new\n"
    "--list` says which there are. `attnc fields --format=schema` prints a JSON\n"
    "Schema; an editor with yaml-language-server completes and checks a spec\n"
    "whose first line is `# yaml-language-server: $schema=spec.schema.json`,\n"
    "where that file is beside it.\n";

static const char layers[] =
    "A key that sets others takes one value for all of them, or a map that names\n"
    "them: `N: 6` is `N: {encoder: 6, decoder: 6}`. Such a value replaces the\n"
    "whole map. With `extends` the other file is read first and what is written\n"
    "here wins key by key; `--set key.path=value` wins over both, and `--set`\n"
    "takes several, as in `--set h=16,d_k=32`. `--set d_k=` alone leaves the key\n"
    "out, so that it has its default. What an extended file says that has no\n"
    "meaning for a new `kind`, or a new type of positions, norm, input, head or\n"
    "penalty, is left out. A default may follow from other keys, as d_k does from\n"
    "d_model and h; where those are changed and it is written out, it stays, with\n"
    "a warning.\n";

static const char layers_about[] =
    "Layers that differ are rows of `layers`: each is the spec with the fields of\n"
    "the row over it, for one layer. As everywhere, one value for a key that sets\n"
    "others replaces the whole map: in a row, `positions: none` also drops the\n"
    "spec's positions.scores, and `positions.type: none` keeps it.\n"
    "\n"
    "    layers:\n"
    "      - {masking: [causal, {window: 512}], positions: {base: 10000}, repeat: 5}\n"
    "      - {masking: causal, positions: {base: 1000000}, repeat: 1}\n"
    "\n"
    "With `repeat` the rows come to N layers; without any they go round until N is\n"
    "reached. One row, a map, is for all layers; `layers: {encoder: .., decoder:\n"
    "..}` has those of each stack, and `--set layers.mix=recurrent` is said of all\n"
    "rows. A row may set masking, positions that are no embeddings, h, h_kv, d_k,\n"
    "d_v, d_ff, mix, ffn, activation, attention, bias, residual, norm but\n"
    "norm.final and norm.embedding. {} is a layer as the spec has it. What all\n"
    "rows of a stack say, the spec itself need not say. A decoder's layers with\n"
    "one window, h_kv, d_k and d_v share a cache, of which a model has 16 at most;\n"
    "that of a window holds what its rows still read, whatever max_len.\n";

static const char mixes_about[] =
    "`mix` is how the rows of a sequence become rows that know of each other.\n"
    "Attention scores each pair: `attention.score`, times `attention.scale`, within\n"
    "`attention.softcap`, plus what positions add, for the keys that `masking`\n"
    "allows; `attention.normalizer` makes weights of them. A recurrent layer goes\n"
    "from row to row with a state; a convolution reads the rows of its kernel.\n"
    "Neither has a mask, nor positions of scores, and no state and no kernel goes\n"
    "over the border of a sequence. A decoder keeps their state, or the last rows\n"
    "of the kernel, beside its cache: steps give the bits of the whole.\n"
    "\n"
    "Latent attention (`attention.latent`) makes each head's keys and values of\n"
    "rows of `kv_rank` columns, and its queries of rows of `q_rank`, by products\n"
    "q, k and v of the norms of q_down and kv_down. The last `rope_dims` columns\n"
    "of a key are k_rope of the layer's rows, for all heads; those of a query are\n"
    "q_rope. Rotary positions turn these. `bias.q` and `bias.k` are of products of\n"
    "the layer's rows, `bias.v` is of v. The cache has keys and values of each\n"
    "head, as without it: their products are not taken out of it.\n"
    "Cross-attention is as it is.\n"
    "\n"
    "With `ffn: experts` a product, the router, gives each row a score for each\n"
    "expert; of these `ffn.chosen` are chosen, of equal ones the lower. Rows are\n"
    "sorted by expert, so that each expert's weights are read once for all of its\n"
    "rows, and not where it has none; what a row's experts give is summed with the\n"
    "weights of `ffn.softmax`, in the order of the choice.\n"
    "\n"
    "An encoder of numbers (`input: real`) reads rows of `input.width`: a product\n"
    "takes them to d_model, or convolutions do (`input.kernels`), which may make\n"
    "one row of several frames (`input.strides`): frames f, f + 1 .. that become\n"
    "one row are one row of the input, side by side. With kernel k and stride s,\n"
    "row i of a convolution is made of rows s i - p to s i - p + k - 1 of what it\n"
    "reads, where p is (k - 1) / 2, rounded down. Rows before the first and behind\n"
    "the last are zeros. No convolution reads a learned row (`input.class_token`):\n"
    "learned rows stand in front of the last convolution's rows. They count as rows\n"
    "of the encoder: for positions, masks, pooling, max_len and `fix`.\n";

static const char names_about[] =
    "`names` maps canonical names to those of the file: `encoder.{i}.ffn.w1:\n"
    "encoder.layers.{i}.fc1`. A row replaces the first parts of a name, {i} is\n"
    "the number of the layer, and the row with most parts is taken. Where it is\n"
    "not in the file's name, all layers have that one tensor. Norms are\n"
    "norm1 of the self-attention, norm2 of the feed-forward network, norm3 of the\n"
    "cross-attention, and norm after the last layer; norm1_after .. follow what\n"
    "has a norm before it too (norm.place both); scale1 .. are the numbers of\n"
    "residual.learned, numbered as the norms are; a gated network is\n"
    "w2 (f(w1 x) * (w3 x)). Each name below has .weight; projections, norms and\n"
    "the products of the network have .bias too ({s}: encoder or decoder; the\n"
    "last five: kind attention).\n"
    "\n"
    "In the place of a name may stand a map:\n"
    "\n"
    "    encoder.{i}.self_attn: {tensor: \"h.{i}.qkv\", rows: [q, k, v]}\n"
    "    encoder.{i}: {transpose: true}\n"
    "    encoder.norm.bias: {fill: 0}\n"
    "    encoder.{i}.norm1.weight: {add: 1}\n"
    "\n"
    "- `tensor`: the name in the file.\n"
    "- `rows`, `columns`: the tensor holds several of ours, named from this row's\n"
    "  own name on, one above the other or side by side; a bias has rows only.\n"
    "  Where the file's names have no .weight and .bias, parts do: [w1.bias, ..].\n"
    "- `groups`: so many times over, each group with an equal share of every\n"
    "  part; `heads` is one group for each head of keys and values.\n"
    "- `transpose`: matrices are stored [in, out]. It holds for all names that\n"
    "  begin with this row's, unless a longer row says otherwise. Rows and\n"
    "  columns are those of the tensor turned back.\n"
    "- `scale`, `add`: an element w of the file's becomes scale w + add, rounded\n"
    "  once, in weights and biases. Each holds for names as `transpose` does.\n"
    "- `fill`: the file has no such tensor; all elements are this number.\n"
    "\n"
    "A tensor may have 1s before its shape, and a matrix its columns in several\n"
    "dimensions: [d, c, p, p] is [d, c p p].\n"
    "\n"
    "Matrices that are one tensor (`embedding.tie`) have the name of the target,\n"
    "or of the source where the target is not among them. No other weights may\n"
    "be the same elements of the file. A row that says nothing of any weight of\n"
    "the model is an error, unless it came by `extends`; where --set made it so,\n"
    "a warning. `attnc tensors` lists the weights of a model;\n"
    "where the file has other names, it proposes rows.\n";

static const char dtypes_about[] =
    "`dtype` is how matrices of weights are stored:\n"
    "\n"
#define FORMAT(name, word, group, line, ending, shared, steps, gate, meaning, \
               ...)                                                           \
    "- `" word "`: " meaning "\n"
#include "runtime/weights/format_rows.h"
    "\n"
    "Biases, norms and tables of positions are f32. In the place of a word may\n"
    "stand a map, by canonical names (below):\n"
    "\n"
    "    dtype: {default: int4, logits: int8, embedding: int8, encoder.0: f32}\n"
    "    dtype: {default: int8, \"decoder.{i}.ffn.w2\": bf16}\n"
    "\n"
    "A key is the beginning of names, whole parts of them; {i} is any layer. The\n"
    "one with most parts is taken. `embedding` stands for all tables of tokens\n"
    "and types, `logits` for the matrix that gives the logits, `default` for all\n"
    "that no key is for; without it that is f32. Where the default has 4\n"
    "bits, embeddings and logits are int8 unless a key says otherwise. A table\n"
    "for both (`embedding.tie`) has what is said of either; if these differ, that\n"
    "is an error, as is a key that no matrix of the model has. `--set\n"
    "dtype.encoder.0=f32` changes one key, `--set dtype=int8` replaces the map.\n"
    "\n"
    "`arithmetic` is what products with weights in integers compute in. f32:\n"
    "weights become f32, and rows stay as they are. int8: each row is rounded to\n"
    "integers from -127 to 127 times a scale, and sums are integers, exact. int15:\n"
    "the same with integers from -16256 to 16256. A row with an infinity or NaN\n"
    "gives NaN. All other arithmetic is f32, as are products with f32 and bf16.\n";

static const char masks_about[] =
    "A mask is `none` or parts that all must allow a key: `causal` (none after\n"
    "the row), `{window: n}` (less than n away, on both sides without `causal`),\n"
    "`{block: n}` (in the same n rows), `{file: mask.txt}` (1: row may see\n"
    "column; as many rows and columns as max_len; blanks and commas may stand\n"
    "between). `prefix` widens `causal`: rows of the prefix, whose length comes\n"
    "with the input, are seen by all rows. A row that may see nothing gets zeros\n"
    "from attention. A decoder's mask has `causal`.\n";

static const char *preset_of(const Field *f)
{
    if (f->type == FieldSpread)
        return "";
    return !f->preset ? "required" : *f->preset ? f->preset : "none";
}

static const char *value_of(Arena *a, const Field *f)
{
    char *text = arena_strdup(a, "sets ");

    if (f->type != FieldSpread)
        return field_wants(a, f);
    for (int i = 0; f->words[i]; i++)
        text = arena_printf(a, "%s%s%s", text, i ? ", " : "", f->words[i]);
    return text;
}

static const char *const kinds[] = { "encoder-decoder", "encoder", "decoder",
                                     "attention" };

static const char *kinds_of(Arena *a, const Field *f)
{
    char *text = arena_strdup(a, "");

    if (f->kinds == AllKinds)
        return "all";
    for (int i = 0; i < 4; i++)
        if (f->kinds & 1u << i)
            text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", kinds[i]);
    return text;
}

/* True if the field is to be printed; key NULL: all fields are. */
static bool is_asked(const Field *f, const char *key)
{
    return !key || strcmp(f->key, key) == 0 || field_below(f->key, key);
}

static void print_plain(Arena *a, FILE *out, const char *key)
{
    for (int i = 0; i < n_fields; i++) {
        const Field *f = &fields[i];
        const char *preset = preset_of(f);
        const char *lead = !*preset ? "" : f->preset ? "; default: " : "; ";
        if (!is_asked(f, key))
            continue;
        fprintf(out, "\n%s%s%s\n    %s\n    %s%s%s\n    kinds: %s\n",
                paint(out, PaintHead), f->key, paint(out, PaintEnd), f->doc,
                value_of(a, f), lead, preset, kinds_of(a, f));
    }
}

static void print_table(Arena *a, FILE *out, const char *key)
{
    fputs("\n| key | value | default | kinds | meaning |\n"
          "|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < n_fields; i++) {
        const Field *f = &fields[i];
        if (is_asked(f, key))
            fprintf(out, "| `%s` | %s | %s | %s | %s |\n", f->key,
                    value_of(a, f), preset_of(f), kinds_of(a, f), f->doc);
    }
}

const char *spec_field_key(int i)
{
    return i < n_fields ? fields[i].key : NULL;
}

bool spec_has_field(const char *path)
{
    return field_find(path) >= 0 || field_group(path)
        || field_of_name(path) >= 0;
}

bool spec_field_one(const char *path)
{
    const int row = field_find(path);
    return row >= 0 && fields[row].type < FieldNoValue;
}

const char *spec_field_text(Arena *a, const Spec *s, const char *path)
{
    const char *text = spec_field_value(a, s, field_row(path));
    return text ? text : "";
}

/* ---- json ---- */
static void json_words(Buffer *b, const char *key, const char *const *words)
{
    json_put_key(b, key);
    buffer_add(b, "[", 1);
    for (int i = 0; words[i]; i++)
        buffer_printf(b, "%s\"%s\"", i ? ", " : "", words[i]);
    buffer_add(b, "]", 1);
}

static void json_kinds(Buffer *b, const Field *f)
{
    const char *words[5] = { NULL };
    for (int i = 0, n = 0; i < 4; i++)
        if (f->kinds & 1u << i)
            words[n++] = kinds[i];
    json_words(b, "kinds", words);
}

static void json_field(Buffer *b, const Field *f)
{
    static const char *const types[] = {
        [FieldInt] = "integer",
        [FieldReal] = "number",
        [FieldReals] = "numbers",
        [FieldIds] = "ids",
        [FieldText] = "text",
        [FieldSequences] = "lists of ids",
        [FieldBool] = "boolean",
        [FieldEnum] = "word",
        [FieldFlags] = "words",
        [FieldScale] = "word or number",
        [FieldActivation] = "word",
        [FieldMask] = "mask",
        [FieldName] = "name",
        [FieldPath] = "path",
        [FieldDtypes] = "words by names",
        [FieldLayers] = "rows",
        [FieldExtends] = "path",
        [FieldNames] = "map",
        [FieldPatterns] = "names",
        [FieldSpread] = "sets",
    };
    const bool number = f->type == FieldInt || f->type == FieldReal
                     || f->type == FieldReals || f->type == FieldIds
                     || f->type == FieldSequences || f->type == FieldScale;
    buffer_printf(b, "  {");
    json_put_text(b, "key", f->key);
    json_put_text(b, "type", types[f->type]);
    if (f->type == FieldActivation)
        json_words(b, "words", act_words(b->arena));
    else if (f->words)
        json_words(b, f->type == FieldSpread ? "sets" : "words", f->words);
    if (number) {
        json_put_number(b, "least", f->least, 10);
        json_put_number(b, "most", f->most, 10);
    }
    json_put_flag(b, "required", !f->preset && f->type != FieldSpread);
    if (f->preset && *f->preset)
        json_put_text(b, "default", f->preset);
    json_kinds(b, f);
    json_put_text(b, "meaning", f->doc);
    buffer_add(b, "}", 1);
}

char *spec_fields_json(Arena *a, const char *key)
{
    Buffer b = { .arena = a };
    buffer_printf(&b, "[");
    for (int i = 0; i < n_fields; i++)
        if (is_asked(&fields[i], key)) {
            buffer_printf(&b, b.n > 1 ? ",\n" : "\n");
            json_field(&b, &fields[i]);
        }
    buffer_printf(&b, "\n]\n");
    return b.at;
}

static void print_all(Arena *a, FILE *out, bool markdown)
{
    if (markdown)
        fputs("# The spec\n\nThis page is printed by `attnc fields "
              "--format=md`.\n\n",
              out);
    fprintf(out, "%s\n%s", about, layers);
    if (markdown)
        print_table(a, out, NULL);
    else
        print_plain(a, out, NULL);
    fprintf(out, "\n%s%s", markdown ? "## Masks\n\n" : "", masks_about);
    fprintf(out, "\n%s%s", markdown ? "## Patterns of layers\n\n" : "",
            layers_about);
    fprintf(out, "\n%s%s", markdown ? "## How rows are mixed\n\n" : "",
            mixes_about);
    fputs(markdown ? "\n## What a model computes\n\n" : "\n", out);
    print_formulas(out);
    fprintf(out, "\n%s%s", markdown ? "## Formats of weights\n\n" : "",
            dtypes_about);
    fprintf(out, "\n%s%s\n", markdown ? "## Names of weights\n\n" : "",
            names_about);
    for (int i = 0; weight_names[i]; i++)
        fprintf(out, "    %s\n", weight_names[i]);
}

void spec_print_fields(FILE *out, bool markdown, const char *key)
{
    Arena *a = arena_new();

    if (!key)
        print_all(a, out, markdown);
    else if (markdown)
        print_table(a, out, key);
    else
        print_plain(a, out, key);
    arena_free(a);
}
