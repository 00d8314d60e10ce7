/* client.c: passes the text, messages and progress of attnc_command() on to
 * stdout and stderr. */
#include <unistd.h>

#include "base/progress.h"
#include "library/attnc.h"
#include "client/client.h"

/* A failed write is stdout's error, which main() reports. */
static int print_text(void *unused, const char *text, int64_t n)
{
    (void)unused;
    fwrite(text, 1, (size_t)n, stdout);
    fflush(stdout);
    return 0;
}

static void print_message(const struct attnc_message *m)
{
    message_view_print(
        &(MessageView){ .severity = (Severity)m->severity,
                        .file = m->file,
                        .line = m->line,
                        .col = m->column,
                        .text = m->text,
                        .source = m->source,
                        .source_bytes = (size_t)m->source_bytes });
}

static void draw_progress(const struct attnc_message *m)
{
    if (terminal_rewrites(STDERR_FILENO))
        progress_draw(STDERR_FILENO, &(ProgressState){ .done = m->done,
                                                       .seconds = m->seconds,
                                                       .left = m->left,
                                                       .text = m->text });
}

static void show(void *unused, const struct attnc_message *m)
{
    (void)unused;
    if (m->severity == ATTNC_SEVERITY_PROGRESS)
        draw_progress(m);
    else if (m->severity == ATTNC_SEVERITY_TEXT)
        fputs(m->text, stderr);
    else
        print_message(m);
}

int client_report(const char *const *words)
{
    const struct attnc_streams streams = { .out = print_text,
                                           .in = STDIN_FILENO,
                                           .out_shown = STDOUT_FILENO,
                                           .log_shown = STDERR_FILENO,
                                           .signals = 1 };
    const int code = attnc_command(words, &streams, show, NULL);
    terminal_clear();
    return code;
}
