/* program_answers.c: starts the kind of answering that the options select, for
 * a model that generates. */

/* Holds a conversation, if the model has the required chat template and
 * vocabulary. */
static void program_chat(struct program *p)
{
    program_prepare(p);
    if (p->status == 0 && !spec_has_chat)
        program_fail(
            p, 3,
            "--chat: the spec has no `chat`, the texts around the turns "
            "of a conversation");
#if ATTN_HAS_TEXT
    if (p->status == 0 && p->target.block) {
#if ATTN_HAS_CHAT
        program_chats(p);
#endif
        return;
    }
#endif
    if (p->status == 0)
        program_fail(p, 3, "--chat: the spec has no vocabulary");
}

static void program_answers(struct program *p)
{
    if (p->m->input_width > 0 && p->use != ATTN_FOR_LINES)
        program_fail(p, 3,
                     "the source is rows of numbers: lines of stdin have them, "
                     "a row each, and an empty one behind the last");
    else if (p->use == ATTN_FOR_PROMPT)
        program_stream(p);
    else if (p->use == ATTN_FOR_CHAT)
        program_chat(p);
    else if (p->use == ATTN_FOR_SCORE)
        program_scores(p);
    else
        program_lines(p);
}
