/* library_command.c: attnc_command(), which runs a command as the program attnc
 * does. */
#include "base/progress.h"
#include "library/library.h"

typedef struct {
    const Call *call;
    PrintReport *print;
    const Options *o;
    CommandOutput out;
} CommandWork;

/* attnc compile writes its -o itself. */
static void print_command(void *with)
{
    const CommandWork *w = with;
    const char *to = w->print == compile_report ? NULL : w->o->output;
    const int code = report_to_file(w->print, w->o, to);
    if (code)
        end_attempt(code);
}

static int run_command(CommandWork *w)
{
    CommandOutput *out = &w->out;
    const bool open = library_open_output(out);
    const int code = open ? attempt(print_command, w) : ExitDone;
    const bool whole = open && library_close_output(out);
    if (whole)
        return out->file ? report_end(out->file, true, code) : code;
    if (out->file)
        output_cancel(out->file);
    return code > ExitNegative ? code : report_fault(&out->why);
}

/* Runs a command whose text goes to the file of -o, or to the caller. */
static int run_to(CommandWork *w, const char *path)
{
    Output file;
    if (!path || is_stdout(path))
        return run_command(w);
    if (!output_open(&file, path, &w->out.why))
        return report_fault(&w->out.why);
    w->out.file = &file;
    return run_command(w);
}

static void run_words(void *with)
{
    CommandWork *w = with;
    const char *const *words = w->call->options;
    VEC(char *) all = { 0 };
    Arena *a = arena_new();
    if (!words || !*words)
        fail(ExitUsage, "attnc_command() takes the words of a command, such as "
                        "\"graph\", \"model.yaml\"");
    const Command *c =
        &commands[library_command(*words, true, "attnc_command()", &w->print)];
    for (words++; *words; words++)
        vec_push(a, &all, arena_strdup(a, *words));
    const Options *o = w->o = options_parse(a, c, all.n, all.at);
    if (o->common.help || o->common.version)
        fail(ExitUsage, "--%s is not an option of attnc_command()",
             o->common.help ? "help" : "version");
    if (o->common.quiet)
        quiet();
    color_choose(o->color);
    const int code = run_to(w, o->common.output);
    arena_free(a);
    if (code)
        end_attempt(code);
}

static void run_guarded(void *with)
{
    library_guarded(run_words, with);
}

int attnc_command(const char *const *words, const struct attnc_streams *streams,
                  attnc_tell *tell, void *user)
{
    static const struct attnc_streams none = { .in = -1,
                                               .out_shown = -1,
                                               .log_shown = -1 };
    const Call c = { "", NULL, words, tell, user, streams ? streams : &none };
    CommandWork w = { .call = &c, .out = { .call = &c } };
    const int color = color_chosen(), code = library_call(&c, run_guarded, &w);
    color_choose(color);
    return code;
}
