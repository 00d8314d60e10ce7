/* form_head.h: the fields of heads and logits, for random_form.h, which
 * includes this file after its own helpers. */
#ifndef ATTNC_FORM_HEAD_H
#define ATTNC_FORM_HEAD_H

/* Returns ", dense: ..", which may be followed by a second, or "". */
static inline const char *form_dense(RandomForm *f, const char *type)
{
    RandomSpec *r = &f->r;
    const char *act = form_act(f), *second = "";

    f->rows = r->d_model;
    f->embedding = one_in(f, 3) ? AMONG(r, 4, 6, 12, 20) : r->d_model;
    if (!one_in(f, 3))
        return "";
    f->rows = coin(r) ? f->embedding : AMONG(r, 10, 16, 33);
    if (one_in(f, 3))
        second = TEXT(f, ", second: {width: %lld, activation: %s, bias: %s}",
                      (long long)f->rows, form_act(f), yes_no(r));
    RandomSpec of = *r; /* a stream of its own: later draws stay unchanged */
    of.state *= 0x9e3779b97f4a7c15u;
    const bool pools = !strcmp(type, "pool") || !strcmp(type, "classify");
    return TEXT(f,
                ", dense: {width: %lld, activation: %s, bias: %s, norm: "
                "%s%s}%s",
                (long long)(*second ? AMONG(r, 11, 16, 34) : f->rows), act,
                yes_no(r), yes_no(r),
                pools && coin(&of) ? ", pooled: false" : "", second);
}

/* Returns a head with what may become of its result. */
static inline const char *form_output(RandomForm *f, const char *type)
{
    RandomSpec of = f->r; /* a stream of its own: later draws stay unchanged */
    of.state *= 0x9e3779b97f4a7c15u;
    RandomSpec *r = &of;
    const char *pool = WORD(r, "none", "mean", "class", "last", "max", "sum");
    if (f->r.kind != KindEncoder || coin(r))
        return type;
    if (!strcmp(type, "rows"))
        return TEXT(f, "rows, normalize: true");
    if (!strcmp(type, "logits"))
        return TEXT(f, "logits, pool: %s, activation: %s%s", pool, form_act(f),
                    WORD(r, "", ", score: 3", ", score: [1, 4]"));
    if (strstr(type, "classify"))
        return TEXT(f, "%s, activation: sigmoid", type);
    return type;
}

static inline void form_head(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const char *type = WORD(r, "rows", "logits", "pool", "classify",
                            "token_classify", "default");

    if (r->kind != KindEncoder || (f->real && !strcmp(type, "logits")))
        type = "default";
    f->head = type;
    if (!strcmp(type, "pool"))
        type = TEXT(f, "pool, pool: %s, normalize: %s",
                    WORD(r, "mean", "class", "last", "max"), yes_no(r));
    if (!strcmp(type, "classify")) /* with few columns, all may be near 0 */
        type = TEXT(f, "classify, classes: 12, bias: %s, pool: %s", yes_no(r),
                    WORD(r, "mean", "class", "last", "max"));
    if (!strcmp(type, "token_classify"))
        type = TEXT(f, "token_classify, classes: 5, bias: %s", yes_no(r));
    type = form_output(f, type);
    say(r, "head", TEXT(f, "{type: %s%s}", type, form_dense(f, f->head)));
    say(r, "logits",
        WORD(r, "{scale: 0.5}", "{softcap: 30}", "{scale: 2, softcap: 5}"));
}

#endif
