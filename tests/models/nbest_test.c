/* nbest_test.c: tests more answers than the beam is wide, of a real model: by
 * the command line, which keeps the beam, and by search() of the emitted file.
 * Skipped if the model is not available (ATTNC_DATA names its directory). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "support/aot.h"
#include "support/expected.h"

static const char recorded[] = "tests/models/aren_nbest.txt";

/* Answers lines of ids as `attnc run --ids --nbest 8 --scores` prints them. */
static const char driver[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include \"m.h\"\n"
    "int main(void)\n"
    "{\n"
    "    static char line[4096], work[1 << 24];\n"
    "    static double bound[1 << 13];\n"
    "    struct attn_search_options o;\n"
    "    struct attn_hypothesis h[8];\n"
    "    int64_t bytes, found, n = 0;\n"
    "    const void *file = aren_transliteration_embedded(&bytes);\n"
    "    if (aren_transliteration_model()->bound_bytes > 1 << 16 ||\n"
    "        aren_transliteration_bind(bound, file, bytes))\n"
    "        return 3;\n"
    "    aren_transliteration_options(&o);\n"
    "    o.beam = 4;\n"
    "    o.results = 8;\n"
    "    o.patience = 2;\n"
    "    while (fgets(line, sizeof line, stdin)) {\n"
    "        int32_t ids[512], start[2] = { 0, 0 };\n"
    "        for (char *id = strtok(line, \" \\n\"); id;\n"
    "             id = strtok(NULL, \" \\n\"))\n"
    "            ids[start[1]++] = atoi(id);\n"
    "        if (aren_transliteration_search(bound, &o, 1, ids, start,\n"
    "                                          work, sizeof work, h, &found))\n"
    "            return 70;\n"
    "        n++;\n"
    "        for (int i = 0; i < found; i++) {\n"
    "            printf(\"%d\\t%.7g\\t\", (int)n, (double)h[i].score);\n"
    "            for (int j = 0; j < h[i].n; j++)\n"
    "                printf(j ? \" %d\" : \"%d\", (int)h[i].tokens[j]);\n"
    "            putchar('\\n');\n"
    "        }\n"
    "    }\n"
    "    return 0;\n"
    "}\n";

/* Writes the sources of all recorded cases, each once, as lines of ids. */
static const char *sources(const char *folder)
{
    const json_t *list, *id, *c;
    const char *all = "\n";
    size_t i, j;
    json_t *root = json_file(arena_printf(a, "%s/expected.json", folder));
    json_array_foreach(json_object_get(root, "cases"), i, c)
    {
        const char *line = "\n";
        list = json_object_get(c, "source_ids");
        json_array_foreach(list, j, id)
            line = arena_printf(a, "%s%s%lld", line, j ? " " : "",
                                (long long)json_integer_value(id));
        line = arena_printf(a, "%s\n", line);
        if (!strstr(all, line))
            all = arena_printf(a, "%s%s", all, line + 1);
    }
    json_decref(root);
    return all + 1;
}

/* Runs a shell line on the input lines; its output in $D/out must equal the
 * recorded one. */
static void assert_recorded(const char *lines, const char *line)
{
    Spawned s;
    size_t n, at = 0;
    const char *want = text_of(recorded, &n);
    assert_true(n > 10000);
    int code = RUN(&s, lines, "/bin/sh", "-c",
                   arena_printf(a, "A=%s D=%s; %s > $D/out", attnc(), dir,
                                line));
    if (code != 0 || *s.tail)
        fail_msg("%s: %d %s", line, code, s.tail);
    const char *found = text_of(in_dir("out"), &n);
    while (found[at] && found[at] == want[at])
        at++;
    if (found[at] || want[at])
        fail_msg("%s: byte %zu: expected %.60s, found %.60s", line, at,
                 want + at, found + at);
}

static void test_both_ways(void **state)
{
    (void)state;
    Fault why;
    const char *folder = data_file("aren-transliteration", "");
    const char *lines = sources(folder);
    const char *model = arena_printf(a,
                                     "models/aren-transliteration.yaml "
                                     "--weights=%s/model.safetensors",
                                     folder);
    assert_recorded(lines, arena_printf(a,
                                        "$A run %s --ids --scores --beam=4 "
                                        "--nbest=8 --patience=2",
                                        model));

    assert_true(write_file(in_dir("x.c"), driver, strlen(driver), &why));
    assert_true(WORKS("/bin/sh", "-c",
                      arena_printf(a,
                                   "%s compile %s --march=native --embed "
                                   "-o %s",
                                   attnc(), model, in_dir("m.c"))));
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      in_dir("x.c"), in_dir("m.c"), "-lm", "-o", in_dir("x")));
    assert_recorded(lines, "$D/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_both_ways, set_up_sharing,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
