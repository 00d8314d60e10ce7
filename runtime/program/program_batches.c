/* program_batches.c: answers parts in batches, for a model that does not
 * generate. */

static void program_run(struct program *p)
{
    int64_t most = p->m->kind == ATTN_ATTENTION ? 3 : PROGRAM_PARTS;

    p->width = p->m->input_width > 0 ? p->m->input_width : 1;
    program_open_lines(p);
    if (p->status == 0)
        program_prepare(p);
    if (p->status == 0)
        shard_start(p);
    if (p->status != 0)
        return;
#if ATTN_HAS_FIXED
    if (p->m->kind != ATTN_ATTENTION && p->m->fixed_batch > 0)
        most = attn_min(most, p->m->fixed_batch);
#endif
    while (p->status == 0 || p->status == 3) {
        if (!program_read(p, most, 1))
            break;
        program_answer(p);
        if (p->status <= 3)
            program_flush(p, stdout);
        shard_answered(p);
    }
    shard_end(p);
    program_finish(p);
}
