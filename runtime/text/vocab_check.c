/* vocab_check.c: checks that a block of bytes is a valid vocabulary. A block
 * that passes is safe to use, whatever its origin. This file checks the
 * structure; models and steps check their own data. */
#include "runtime/core.h"

#include <string.h>

/* Messages for a valid block that this program does not support. */
static const char vocab_no_kind[] = "vocabulary: unknown kind of tokenizer";
static const char vocab_no_step[] = "vocabulary: an unknown step";

static int vocab_bad_id(const struct attn_vocab_header *h, int32_t id)
{
    return id < -1 || id >= h->size;
}

/* The item size of each section; only the offsets of texts are required. */
static const struct {
    int64_t item;
    int needed;
} vocab_sections[ATTN_SECTIONS] = {
    [ATTN_OFFSETS] = { 4, 1 },
    [ATTN_TEXTS] = { 1, 0 },
    [ATTN_FIND] = { 4, 0 },
    [ATTN_PIECES] = { 1, 0 },
    [ATTN_SCORES] = { 4, 0 },
    [ATTN_BYTES] = { 1024, 0 },
    [ATTN_BYTES_LAST] = { 1024, 0 },
    [ATTN_PAIRS] = { sizeof(struct attn_pair), 0 },
    [ATTN_WORDS] = { 4, 0 },
    [ATTN_STRINGS] = { 1, 0 },
    [ATTN_NORMAL] = { sizeof(struct attn_step), 0 },
    [ATTN_SPLIT] = { sizeof(struct attn_step), 0 },
    [ATTN_DECODE] = { sizeof(struct attn_step), 0 },
    [ATTN_ADDED] = { sizeof(struct attn_added), 0 },
    [ATTN_ADDED_TRIE] = { sizeof(struct attn_node), 0 },
    [ATTN_TEMPLATE] = { 8, 0 },
    [ATTN_CLASSES] = { 256, 0 },
    [ATTN_MAPPINGS] = { 1, 0 },
    [ATTN_CHARMAP] = { 1, 0 },
    [ATTN_MODEL_TRIE] = { 1, 0 },
};

static const char *vocab_check_sections(const struct attn_vocab_header *h)
{
    const int64_t head = sizeof *h;
    for (int64_t i = 0; i < ATTN_SECTIONS; i++) {
        const struct attn_section *s = &h->section[i];
        const int64_t item = vocab_sections[i].item;
        if (s->at == 0 && s->bytes == 0 && !vocab_sections[i].needed)
            continue;
        if (item == 0 || s->bytes < 1 || s->bytes % item != 0 || s->at % 8 != 0)
            return "vocabulary: a part of it has another form";
        if (s->at < head || s->at > h->bytes || s->bytes > h->bytes - s->at)
            return "vocabulary: a part lies outside of it";
    }
    if (h->section[ATTN_OFFSETS].bytes / 4 - 1 != (int64_t)h->size + h->extra)
        return "vocabulary: fewer bytes than its tokens need";
    return NULL;
}

static const char *vocab_check_head(const struct attn_vocab_header *h,
                                    int64_t bytes)
{
    if (attn_check_block(h) != 0)
        return "no vocabulary: its first bytes are not ATTNVOC3";
    if (h->bytes != bytes)
        return "vocabulary: its size is not the size that it states";
    if (!attn_vocab_kind(h->kind))
        return vocab_no_kind;
    if (h->size < 0 || h->size > bytes / 4 || h->extra < 0
        || h->extra > bytes / 4)
        return "vocabulary: fewer bytes than its tokens need";
    if (vocab_bad_id(h, h->start) || vocab_bad_id(h, h->end)
        || vocab_bad_id(h, h->pad) || vocab_bad_id(h, h->unknown))
        return "vocabulary: a special token is out of range";
    if (h->append_end < 0 || h->append_end > 1)
        return "vocabulary: append_end is neither 0 nor 1";
    if (h->append_end && h->end < 0)
        return "vocabulary: an end token is to be added, and there is none";
    if (h->flags & ~ATTN_MODEL_FLAGS || h->most < 0)
        return "vocabulary: its model has an unknown flag";
    if (h->extra > 0 && h->unknown < 0)
        return "vocabulary: no unknown token for those of the model";
    return vocab_check_sections(h);
}

static const char *vocab_check_texts(const struct attn_vocab *v)
{
    const int64_t size = (int64_t)v->head->size + v->head->extra;
    int64_t room, pieces;
    attn_vocab_section(v->head, ATTN_TEXTS, &room);
    attn_vocab_section(v->head, ATTN_PIECES, &pieces);
    if (v->offset[0] != 0 || v->offset[size] != room)
        return "vocabulary: its texts do not fill their place";
    if (v->piece && pieces != size)
        return "vocabulary: not a kind for each token";
    for (int64_t i = 0; i < size; i++)
        if (v->offset[i] > v->offset[i + 1] || v->offset[i + 1] > room)
            return "vocabulary: texts out of order";
    return NULL;
}

/* Checks that a table has valid ids, and an empty slot to end a search. */
static const char *vocab_check_table(const uint32_t *slot, int64_t n,
                                     int64_t size)
{
    int64_t empty = n == 0;
    for (int64_t i = 0; i < n; i++) {
        empty += slot[i] == 0;
        if (slot[i] > size)
            return "vocabulary: an id out of range";
    }
    return empty > 0 ? NULL : "vocabulary: a table without an end";
}

static const char *vocab_check_ids(const struct attn_vocab *v,
                                   const int32_t *id, int64_t n)
{
    const int64_t size = (int64_t)v->head->size + v->head->extra;
    for (int64_t i = 0; id && i < n; i++)
        if (id[i] < -1 || id[i] >= size)
            return "vocabulary: an id out of range";
    return NULL;
}

static int vocab_bad_part(const struct attn_vocab *v, struct attn_part p)
{
    int64_t n;
    attn_vocab_section(v->head, ATTN_STRINGS, &n);
    return p.at > n || p.bytes > n - p.at;
}

static int vocab_bad_text(const struct attn_vocab *v, struct attn_part p)
{
    if (vocab_bad_part(v, p))
        return 1;
    return p.bytes > 0 && attn_utf8(v->strings + p.at, p.bytes) != p.bytes;
}

/* Checks that steps and added tokens get complete characters. Only steps that
 * work on bytes may follow a step that may split characters. */
static const char *vocab_check_bytes(const struct attn_vocab *v)
{
    const int replaced = (v->head->flags & ATTN_MODEL_REPLACE) != 0;
    if (!replaced && v->steps[0] + v->steps[1] + v->addeds > 0)
        return "vocabulary: its steps take no bytes that are not UTF-8";
    for (int64_t i = 1; i < v->steps[1]; i++) {
        const int32_t op = v->step[1][i].op;
        const int32_t before = v->step[1][i - 1].op;
        if ((before == ATTN_STEP_DIGIT_BYTES || before == ATTN_STEP_THREE)
            && op != ATTN_STEP_DIGIT_BYTES && op != ATTN_STEP_THREE)
            return "vocabulary: a step behind one that cuts characters";
    }
    return NULL;
}

static const char *vocab_check_steps(const struct attn_vocab *v, int list)
{
    if (v->steps[list] > ATTN_STEPS)
        return "vocabulary: too many steps";
    for (int64_t i = 0; i < v->steps[list]; i++) {
        const struct attn_step *s = &v->step[list][i];
        const struct attn_op *op = attn_step_op(s->op);
        const char *wrong = NULL;
        if (vocab_bad_text(v, s->text) || vocab_bad_text(v, s->other))
            return "vocabulary: a step's text is not UTF-8, or not in it";
        if (!op || (list == 0 && !op->change)
            || (list == 1 && !op->change && !op->find))
            return vocab_no_step;
        if (op->check)
            wrong = op->check(v, s);
        if (wrong)
            return wrong;
    }
    return NULL;
}

static const char *vocab_check_added(const struct attn_vocab *v)
{
    for (int64_t i = 0; i < v->addeds; i++)
        if (vocab_bad_text(v, v->added[i].text) || v->added[i].id < 0
            || v->added[i].id >= v->head->size)
            return "vocabulary: an added token out of range";
    if (v->nodes == 1)
        return "vocabulary: its added tokens have no roots";
    for (int64_t i = 0; i < v->nodes; i++) {
        const struct attn_node *at = &v->node[i];
        if (at->row < -1 || at->row >= v->addeds
            || (int64_t)at->child + at->children > v->nodes)
            return "vocabulary: an added token out of range";
    }
    return NULL;
}

static const char *vocab_check_template(const struct attn_vocab *v)
{
    int64_t bytes, texts = 0, of_pair[2] = { 0, 0 };
    const int32_t *count = attn_vocab_section(v->head, ATTN_TEMPLATE, &bytes);
    if (!count)
        return NULL;
    const struct attn_template *row = (const void *)(count + 2);
    const int64_t rows = bytes / 8 - 1;
    if (count[0] < 0 || count[1] < 0 || (int64_t)count[0] + count[1] != rows)
        return "vocabulary: a template of another size";
    for (int64_t i = 0; i < rows; i++) {
        if (row[i].id < (i < count[0] ? -1 : -2) || row[i].id >= v->head->size)
            return "vocabulary: a template's id is out of range";
        texts += i < count[0] && row[i].id == -1;
        for (int32_t of = 0; of < 2 && i >= count[0]; of++)
            of_pair[of] += row[i].id == -1 - of;
    }
    if (count[1] > 0 && (of_pair[0] != 1 || of_pair[1] != 1))
        return "vocabulary: a template of pairs without its two texts";
    return texts == 1 ? NULL : "vocabulary: a template without the text";
}

static const char *vocab_check_classes(const struct attn_vocab *v)
{
    int64_t bytes;
    attn_vocab_section(v->head, ATTN_CLASSES, &bytes);
    if (!v->classes)
        return NULL;
    if (bytes <= ATTN_CLASS_INDEX)
        return "vocabulary: classes without an index";
    for (int64_t i = 0; i < ATTN_CLASS_INDEX; i++)
        if (256 * (int64_t)v->classes[i] >= bytes - ATTN_CLASS_INDEX)
            return "vocabulary: a class out of range";
    return NULL;
}

static const char *vocab_check_parts(const struct attn_vocab *v)
{
    const int64_t size = (int64_t)v->head->size + v->head->extra;
    const char *wrong = vocab_check_texts(v);
    if (!wrong)
        wrong = vocab_check_table(v->find, v->finds, size);
    if (!wrong)
        wrong = vocab_check_table(v->word, v->words, size);
    if (!wrong)
        wrong = vocab_check_ids(v, v->byte, 256);
    if (!wrong)
        wrong = vocab_check_ids(v, v->byte_last, 256);
    if (!wrong
        && (vocab_bad_part(v, v->head->prefix)
            || vocab_bad_part(v, v->head->suffix)))
        wrong = "vocabulary: a text lies outside of it";
    if (!wrong)
        wrong = vocab_check_classes(v);
    if (!wrong)
        wrong = vocab_check_added(v);
    if (!wrong)
        wrong = vocab_check_template(v);
    for (int list = 0; list < 3 && !wrong; list++)
        wrong = vocab_check_steps(v, list);
    if (!wrong)
        wrong = vocab_check_bytes(v);
    return wrong;
}

ATTN_API int attn_vocab_unknown(const char *wrong)
{
    return wrong == vocab_no_kind || wrong == vocab_no_step;
}

ATTN_API const char *attn_vocab_check(const void *block, int64_t bytes)
{
    struct attn_vocab v;
    if ((uintptr_t)block % 8 != 0)
        return "vocabulary: not at a multiple of 8 bytes";
    if (bytes < (int64_t)sizeof(struct attn_vocab_header))
        return "vocabulary: shorter than its head";
    const char *wrong = vocab_check_head(block, bytes);
    if (wrong)
        return wrong;
    attn_vocab_open(&v, block);
    wrong = vocab_check_parts(&v);
    if (wrong)
        return wrong;
    return attn_vocab_kind(v.head->kind)->check(&v);
}
