/* random_sublayers.h: what stands in the place of attention and of a dense
 * network, in the forms of random_form.h, whose parts before it it needs.    */
#ifndef ATTNC_RANDOM_SUBLAYERS_H
#define ATTNC_RANDOM_SUBLAYERS_H

/* What mixes rows in the place of attention. */
static inline void form_mix(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const char *direction = has_target(r)
                              ? "forward"
                              : WORD(r, "forward", "backward", "both");
    const char *cell = WORD(r, "simple, activation: tanh", "lstm", "gru",
                            "simple, activation: relu");
    const int64_t width = AMONG(r, 1, 7, 16, 20, 33, 64);

    r->matrix = WORD(r, "recurrent.hidden", "recurrent.input");
    if (!strcmp(direction, "backward"))
        r->matrix = "recurrent.backward.hidden";
    say(r, "mix",
        TEXT(f, "{type: recurrent, cell: %s, direction: %s%s}", cell, direction,
             coin(r) ? "" : TEXT(f, ", width: %lld", (long long)width)));
}

/* Half of them have groups, a third shared experts. */
static inline void form_experts(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const int64_t groups = coin(r) ? 1 : AMONG(r, 2, 3);
    const int64_t each = AMONG(r, 2, 3, 5), n = groups * each;
    const int64_t some = 1 + pick(r, groups);
    const int64_t chosen = 1 + pick(r, each * some < 4 ? each * some : 4);
    const char *softmax = WORD(r, "before", "after", "sigmoid");

    say_sides(f, "d_ff",
              (int64_t[]){ AMONG(r, 1, 8, 17, 32), AMONG(r, 3, 16, 17, 33) });
    say(r, "ffn",
        TEXT(f,
             "{type: experts, experts: %lld, chosen: %lld, softmax: %s, "
             "normalize: %s, factor: %s, router_bias: %s, correction: %s, "
             "groups: %lld, groups_chosen: %lld, group_score: %s%s}",
             (long long)n, (long long)chosen, softmax, yes_no(r),
             WORD(r, "1", "2.5"), yes_no(r), yes_no(r), (long long)groups,
             (long long)some, WORD(r, "max", "pair"),
             one_in(f, 3) ? TEXT(f, ", shared: %lld, shared_gate: %s",
                                 (long long)AMONG(r, 5, 16), yes_no(r))
                          : ""));
}

#endif
