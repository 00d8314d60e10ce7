/* check_ffn.c: checks the numbers of experts, expert groups and selected
 * experts. */
#include "spec/fields/fields.h"

static const Pos nowhere;

static void check_groups(const Spec *s)
{
    const int64_t n = s->ffn_experts, groups = s->ffn_groups;

    if (n % groups != 0) {
        error_at(spec_pos(s, "ffn.groups"),
                 "ffn.groups (%lld) does not divide ffn.experts (%lld)",
                 (long long)groups, (long long)n);
        note_at(spec_pos(s, "ffn.experts"), "ffn.experts is here");
        return;
    }
    if (s->ffn_groups_chosen > groups) {
        error_at(spec_pos(s, "ffn.groups_chosen"),
                 "cannot choose %lld groups of %lld",
                 (long long)s->ffn_groups_chosen, (long long)groups);
        note_at(spec_pos(s, "ffn.groups"), "ffn.groups is here");
        return;
    }
    const int64_t reach = n / groups * s->ffn_groups_chosen;
    if (s->ffn_chosen > reach && reach < n)
        error_at(spec_pos(s, "ffn.chosen"),
                 "cannot choose %lld experts: the chosen groups have %lld",
                 (long long)s->ffn_chosen, (long long)reach);
    if (s->ffn_group_score == GroupPair && n / groups < 2) {
        error_at(spec_pos(s, "ffn.group_score"),
                 "ffn.group_score: pair needs two experts in a group");
        note_at(nowhere, "write ffn.group_score: max");
    }
}

void check_experts(const Spec *s)
{
    if (s->ffn_chosen > s->ffn_experts) {
        error_at(spec_pos(s, "ffn.chosen"),
                 "cannot choose %lld experts of %lld", (long long)s->ffn_chosen,
                 (long long)s->ffn_experts);
        note_at(spec_pos(s, "ffn.experts"),
                "ffn.chosen is at most ffn.experts");
    }
    check_groups(s);
    if (s->ffn_shared_gate && s->ffn_shared < 1) {
        error_at(spec_pos(s, "ffn.shared_gate"),
                 "ffn.shared_gate needs shared experts");
        note_at(nowhere, "set ffn.shared, the width of the shared experts");
    }
}
