/* words.c: pronounces the words of the command line. It opens a spec, such as
 * models/g2p-en/g2p-en.yaml, by libattnc. */
#include <attnc.h>
#include <stdio.h>

static void tell(void *user, const struct attnc_message *m)
{
    (void)user;
    if (m->severity > ATTNC_SEVERITY_NOTE)
        return;
    if (m->file)
        fprintf(stderr, "%s:%d:%d: ", m->file, m->line, m->column);
    fprintf(stderr, "%s\n", m->text);
}

static int print(void *user, const char *text, int64_t bytes)
{
    (void)user;
    return fwrite(text, 1, (size_t)bytes, stdout) < (size_t)bytes;
}

int main(int argc, char **argv)
{
    const char *const options[] = { "--threads=1", NULL };
    attnc_model *m;
    attnc_handle *h;
    if (argc < 2) {
        fprintf(stderr, "usage: words SPEC WORD ..\n");
        return ATTNC_USAGE;
    }
    int code = attnc_open(&m, argv[1], NULL, options, tell, NULL);
    if (code != ATTNC_DONE)
        return code;
    code = attnc_handle_open(&h, m, NULL);
    for (int i = 2; i < argc && code == ATTNC_DONE; i++) {
        if (attnc_generate(h, argv[i], -1, NULL, print, NULL) < 0)
            code = ATTNC_INPUT;
        putchar('\n');
    }
    if (code != ATTNC_DONE)
        fprintf(stderr, "%s\n", attnc_error(h));
    attnc_handle_close(h);
    attnc_close(m);
    return code;
}
