/* weights_check_test.c: tests reports of what a weights file lacks, and
 * model.weights. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <xxhash.h>

#include "runtime/rt.h"
#include "support/scratch.h"

/* ---- checks ---- */
static void assert_report(Report *r, const char *want)
{
    assert_string_equal(r->text ? r->text : "", want);
    report_free(r);
}

static Safetensors *odd_file(void)
{
    static const float data[64] = { 1, NAN, -INFINITY };
    const TensorOut t[] = {
        { .name = "enc.0.q.weigth", .rank = 2, .dim = { 4, 2 }, .data = data },
        { .name = "b", .rank = 1, .dim = { 3 }, .data = data },
        { .name = "c", .rank = 2, .dim = { 3, 1 }, .data = data + 8 },
        { .name = "ids",
          .rank = 1,
          .dim = { 2 },
          .data = data,
          .is_int = true },
        { .name = "scalar", .rank = 0, .data = data + 8 },
        { .name = "t", .rank = 2, .dim = { 2, 4 }, .data = data + 8 },
    };
    Fault why;
    assert_true(safetensors_write("w", t, 6, &why));
    Safetensors *s = safetensors_open("w", &why);
    assert_non_null(s);
    return s;
}

static void reports_what_does_not_fit(void **state)
{
    (void)state;
    Safetensors *s = odd_file();
    PackItem item[] = {
        { .from.name = "enc.0.q.weight",
          .layout = PackPanels,
          .rows = 4,
          .k = 2 },
        { .from.name = "b", .layout = PackVector, .rows = 1, .k = 3 },
        { .from.name = "c", .layout = PackVector, .rows = 1, .k = 3 },
        { .from.name = "ids", .layout = PackVector, .rows = 1, .k = 2 },
        { .from.name = "t", .layout = PackPanels, .rows = 4, .k = 2 },
        { .from.name = "t",
          .layout = PackRows,
          .rows = 4,
          .k = 2,
          .alias = true },
        { .layout = PackRows, .table = TableSinusoid, .rows = 9, .k = 9 },
        { .from.name = "quite.another\n",
          .layout = PackVector,
          .rows = 1,
          .k = 5 },
    };
    PackList list = { .item = item, .count = 8 };
    Report r = { .allow_nan = true };
    assert_false(weights_check(&list, s, &r));
    assert_int_equal(r.errors, 5);
    assert_int_equal(r.warnings, 3);
    assert_report(
        &r, "error: w: tensor 'enc.0.q.weight' [4, 2] is missing; the nearest "
            "name there is 'enc.0.q.weigth'\n"
            "warning: w: tensor 'b': 2 of 3 values are NaN or infinite, the "
            "first at [1]\n"
            "error: w: tensor 'c': has shape [3, 1], [3] is needed\n"
            "error: w: tensor 'ids': has dtype I32; F32, F16, BF16 or F64 is "
            "needed\n"
            "error: w: tensor 't': has shape [2, 4], [4, 2] is needed; "
            "see transpose in the spec's names\n"
            "error: w: tensor 'quite.another\\x0a' [5] is missing\n"
            "warning: w: tensor 'enc.0.q.weigth' [4, 2] is not used\n"
            "warning: w: tensor 'scalar' [] is not used\n");

    list = (PackList){ .item = item + 1, .count = 1 };
    r.allow_nan = true;
    assert_true(weights_check(&list, s, &r)); /* warnings alone */
    assert_int_equal(r.errors, 0);
    assert_int_equal(r.warnings, 6);
    report_free(&r);
    assert_true(weights_check(&list, NULL, &r));
    assert_report(&r, "");
    safetensors_close(s);
}

/* Tests that the same finding in many layers is one line; others stay separate.
 */
static void groups_layers(void **state)
{
    (void)state;
    static const float data[8];
    static PackItem item[12];
    static char name[12][40];
    const TensorOut t[] = {
        { .name = "layer.0.b", .rank = 1, .dim = { 3 }, .data = data },
        { .name = "layer.1.b", .rank = 1, .dim = { 3 }, .data = data },
        { .name = "layer.2.b", .rank = 1, .dim = { 4 }, .data = data },
        { .name = "layer.0.v", .rank = 1, .dim = { 1 }, .data = data },
        { .name = "layer.1.v", .rank = 1, .dim = { 1 }, .data = data },
    };
    Fault why;
    assert_true(safetensors_write("w", t, 5, &why));
    Safetensors *s = safetensors_open("w", &why);
    assert_non_null(s);
    for (int i = 0; i < 12; i++) {
        snprintf(name[i], sizeof name[i], i % 2 ? "layer.%d.b" : "layer.%d.w",
                 i / 2);
        item[i] = (PackItem){
            .from.name = name[i], .layout = PackVector, .rows = 1, .k = 2
        };
    }
    PackList list = { .item = item, .count = 12 };
    Report r = { 0 };
    assert_false(weights_check(&list, s, &r));
    assert_int_equal(r.errors, 12);
    assert_int_equal(r.warnings, 2);
    assert_report(
        &r, "error: w: tensor 'layer.{i}.w' (i: 0 to 1) [2] is missing; the "
            "nearest name there is 'layer.{i}.v'\n"
            "error: w: tensor 'layer.{i}.b' (i: 0 to 1): has shape [3], [2] is "
            "needed\n"
            "error: w: tensor 'layer.{i}.w' (i: 2 to 5) [2] is missing; the "
            "nearest name there is 'layer.0.v'\n"
            "error: w: tensor 'layer.2.b': has shape [4], [2] is needed\n"
            "error: w: tensor 'layer.{i}.b' (i: 3 to 5) [2] is missing; the "
            "nearest name there is 'layer.0.v'\n"
            "warning: w: tensor 'layer.{i}.v' (i: 0 to 1) [1] is not used\n");
    safetensors_close(s);
}

/* Tests that leading dimensions of 1 are ignored, and that the first rows of a
 * longer table are used. */
static void takes_longer_tables(void **state)
{
    (void)state;
    static const float data[12] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const TensorOut t[] = {
        { .name = "target.weight", .rank = 2, .dim = { 4, 2 }, .data = data },
        { .name = "logits.bias", .rank = 2, .dim = { 1, 4 }, .data = data },
        { .name = "q.weight", .rank = 2, .dim = { 4, 2 }, .data = data },
    };
    PackItem item[] = {
        { .layout = PackRows, .rows = 3, .k = 2 },
        { .layout = PackVector, .rows = 1, .k = 3 },
        { .layout = PackPanels, .rows = 3, .k = 2 },
    };
    Fault why;
    assert_true(safetensors_write("w", t, 3, &why));
    Safetensors *s = safetensors_open("w", &why);
    assert_non_null(s);
    for (int i = 0; i < 3; i++)
        item[i].name = item[i].from.name = t[i].name;
    PackList list = { .item = item, .count = 2 };
    Report r = { 0 };
    assert_true(weights_check(&list, s, &r));
    assert_report(
        &r, "note: w: tensor 'target.weight': has 4 rows, the first 3 are "
            "taken\n"
            "note: w: tensor 'logits.bias': has 4 rows, the first 3 are "
            "taken\n"
            "warning: w: tensor 'q.weight' [4, 2] is not used\n");
    float rows[6], bias[3];
    weights_tensor(&item[0], s, 0, rows);
    weights_tensor(&item[1], s, 0, bias);
    assert_memory_equal(rows, data, sizeof rows);
    assert_memory_equal(bias, data, sizeof bias);
    list.count = 3; /* no table */
    assert_false(weights_check(&list, s, &r));
    assert_int_equal(r.errors, 1);
    report_free(&r);
    safetensors_close(s);
}

/* Tests that the columns of a matrix, but not its rows, may be in several
 * dimensions. */
static void joins_dimensions(void **state)
{
    static const float data[48];
    static const struct {
        int rank;
        int64_t dim[4], rows, k; /* rows 0: a vector */
        bool fits;
    } shape[] = {
        { 4, { 2, 3, 2, 2 }, 2, 12, true }, { 3, { 4, 2, 3 }, 4, 6, true },
        { 3, { 1, 4, 3 }, 4, 3, true },     { 4, { 1, 1, 2, 3 }, 2, 3, true },
        { 3, { 1, 2, 3 }, 1, 6, false },    { 4, { 2, 3, 2, 2 }, 6, 4, false },
        { 3, { 1, 1, 5 }, 0, 5, true },     { 2, { 5, 1 }, 0, 5, false },
        { 2, { 1, 6 }, 1, 6, true },        { 3, { 2, 3, 1 }, 2, 3, true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        TensorOut t = { .name = "x", .rank = shape[i].rank, .data = data };
        memcpy(t.dim, shape[i].dim, sizeof shape[i].dim);
        Fault why;
        assert_true(safetensors_write("w", &t, 1, &why));
        Safetensors *s = safetensors_open("w", &why);
        PackItem item = { .from.name = "x",
                          .layout = shape[i].rows ? PackPanels : PackVector,
                          .rows = shape[i].rows ? shape[i].rows : 1,
                          .k = shape[i].k };
        PackList list = { .item = &item, .count = 1 };
        Report r = { 0 };
        if (weights_check(&list, s, &r) != shape[i].fits)
            fail_msg("shape %zu: %s", i, r.text ? r.text : "no error");
        report_free(&r);
        safetensors_close(s);
    }
}

/* Tests parts of one tensor: it is used if all parts are; a wrong shape is
 * reported once. */
static void parts_share_a_tensor(void **state)
{
    (void)state;
    Safetensors *s = odd_file();
    PackItem item[3];
    for (int i = 0; i < 3; i++)
        item[i] = (PackItem){ .layout = PackVector,
                              .rows = 1,
                              .k = 1,
                              .from = { .name = "b",
                                        .by_columns = true,
                                        .groups = 1,
                                        .first = i,
                                        .take = 1,
                                        .stride = 3,
                                        .total = 3 } };
    PackList list = { .item = item, .count = 3 };
    Report r = { .allow_nan = true };
    assert_true(weights_check(&list, s, &r));
    assert_null(strstr(r.text, "'b' [3]"));
    report_free(&r);
    list.count = 2;
    r.allow_nan = true;
    assert_true(weights_check(&list, s, &r));
    assert_non_null(strstr(r.text, "warning: w: tensor 'b' [3]: only 2 of its "
                                   "3 elements are used\n"));
    report_free(&r);
    for (int i = 0; i < 3; i++)
        item[i].from.total = item[i].from.stride = 4;
    list.count = 3;
    r.allow_nan = true;
    assert_false(weights_check(&list, s, &r));
    assert_int_equal(r.errors, 1);
    assert_non_null(strstr(r.text, "'b': has shape [3], [4] is needed\n"));
    report_free(&r);
    for (int i = 0; i < 3; i++)
        item[i].from.name = "none at all";
    assert_false(weights_check(&list, s, &r));
    assert_int_equal(r.errors, 1);
    report_free(&r);
    safetensors_close(s);
}

static void counts_every_missing_tensor(void **state)
{
    (void)state;
    enum { Many = 500 };
    const TensorOut x = { .name = "x", .rank = 0, .data = &(float){ 0 } };
    Fault why;
    assert_true(safetensors_write("w", &x, 1, &why));
    Safetensors *s = safetensors_open("w", &why);
    assert_non_null(s);
    static PackItem item[Many];
    static char name[Many][400];
    for (int i = 0; i < Many; i++) { /* some are longer than a hint may be */
        memset(name[i], 'n', (size_t)i / 2);
        snprintf(name[i] + i / 2, 20, "%d", i);
        item[i] = (PackItem){
            .from.name = name[i], .layout = PackVector, .rows = 1, .k = 1
        };
    }
    PackList list = { .item = item, .count = Many };
    Report r = { 0 };
    assert_false(weights_check(&list, s, &r));
    assert_int_equal(r.errors, Many);
    int lines = 0;
    for (const char *at = r.text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 20 + 2); /* and x is not used */
    assert_non_null(strstr(r.text, "note: and 479 more errors of this file\n"));
    report_free(&r);
    safetensors_close(s);
}

/* ---- model.weights ---- */
static void saves_packed_weights(void **state)
{
    (void)state;
    PackList list = { .name = "tiny",
                      .bytes = 132,
                      .hash = 0x0123456789abcdefu };
    float packed[33];
    Fault why;
    for (int i = 0; i < 33; i++)
        packed[i] = (float)i;
    const char *path = scratch_path("model.weights");
    const PackedModel m = { &list, packed, "source vocabulary", 17, "target",
                            6,     4 };
    assert_true(weights_save(path, &m, &why));
    File f;
    assert_true(file_map(&f, path, &why));
    struct attn_packed_header h;
    memcpy(&h, f.at, sizeof h);
    assert_memory_equal(h.magic, "ATTNCW03", 8);
    assert_string_equal(h.name, "tiny");
    assert_true(h.hash == list.hash);
    assert_true(h.page == XXH64(f.at + 16, 4096 - 16, 0));
    assert_true(h.contents == XXH64(f.at + 4096, f.size - 4096, 0));
    assert_int_equal(h.bytes, f.size);
    assert_int_equal(h.bytes, 4096 + 192 + 64 + 64);
    assert_int_equal(h.weights_at, 4096);
    assert_int_equal(h.weights_bytes, 132);
    assert_memory_equal(f.at + h.weights_at, packed, 132);
    assert_int_equal(h.source_vocab_at, 4096 + 192);
    assert_int_equal(h.source_vocab_bytes, 17);
    assert_memory_equal(f.at + h.source_vocab_at, "source vocabulary", 17);
    assert_int_equal(h.target_vocab_at, 4096 + 192 + 64);
    assert_int_equal(h.target_vocab_bytes, 6);
    assert_memory_equal(f.at + h.target_vocab_at, "target", 7);
    assert_int_equal(h.random, 4);
    static char image[8192]; /* the same, for --embed, except a hash */
    assert_int_equal(weights_image(NULL, &m), f.size);
    weights_image(image, &m);
    assert_memory_equal(image + 4096, f.at + 4096, f.size - 4096);
    memcpy(&h, image, sizeof h);
    assert_true(h.contents == 0);
    assert_true(h.page == XXH64(image + 16, 4096 - 16, 0));
    h.page = ((const struct attn_packed_header *)f.at)->page;
    h.contents = ((const struct attn_packed_header *)f.at)->contents;
    assert_memory_equal(&h, f.at, sizeof h);
    file_close(&f);
}

static void saves_without_vocabularies(void **state)
{
    (void)state;
    PackList list = { .bytes = 64, .dtype = "f32", .hash = 7 };
    const float packed[16] = { 1, 2, 3 };
    struct attn_model m = { .name = "tiny",
                            .command = "",
                            .weights_bytes = 64,
                            .dtype = "f32",
                            .weights_hash = 7 };
    char text[ATTN_PACKED_TEXT];
    Fault why;
    const char *path = scratch_path("model.weights");
    assert_true(weights_save(path,
                             &(PackedModel){ .list = &list, .packed = packed },
                             &why));
    File f;
    assert_true(file_map(&f, path, &why));
    assert_int_equal(f.size, 4096 + 64);
    assert_null(attn_packed_check(&m, f.at, (int64_t)f.size, 1, text));
    m.weights_hash = 8;
    assert_non_null(attn_packed_check(&m, f.at, (int64_t)f.size, 1, text));
    file_close(&f);
    assert_false(weights_save(scratch,
                              &(PackedModel){ .list = &list, .packed = packed },
                              &why));
    assert_int_equal(why.code, ExitIO);
}

static int go_to_scratch(void **state)
{
    return scratch_make(state) || chdir(scratch);
}

/* Tests that values that are not finite are errors in tensors packed as
 * integers, even by their second use; in others only NaN is, unless it is
 * allowed. */
static void integers_are_finite(void **state)
{
    static const float x[6] = { 1, 2, 3, 4, INFINITY, NAN };
    const char *names[] = { "d.0.w", "d.1.w", "e", "f" };
    TensorOut t[4];
    PackItem item[5] = { 0 };
    Report r = { 0 };
    Fault why;
    (void)state;
    for (int i = 0; i < 4; i++) {
        t[i] = (TensorOut){
            .name = names[i], .rank = 2, .dim = { 2, 3 }, .data = x
        };
        item[i] = (PackItem){ .name = names[i],
                              .from.name = names[i],
                              .layout = PackPanels,
                              .dtype = i < 2 ? DtypeInt8 : DtypeF32,
                              .rows = 2,
                              .k = 3 };
    }
    item[4] = item[2];
    item[4].alias = true;
    item[4].dtype = DtypeInt4;
    assert_true(safetensors_write("w", t, 4, &why));
    Safetensors *s = safetensors_open("w", &why);
    const PackList list = { .item = item, .count = 5 };
    assert_false(weights_check(&list, s, &r));
    assert_int_equal(r.errors, 4);
    assert_int_equal(r.warnings, 0);
    assert_non_null(strstr(r.text, "error: w: tensor 'f': 1 of 6 values are "
                                   "NaN, the first at [1, 2]; --allow-nan "
                                   "permits them\n"));
    report_free(&r);
    r.allow_nan = true;
    assert_false(weights_check(&list, s, &r));
    assert_int_equal(r.errors, 3);
    assert_int_equal(r.warnings, 1);
    assert_report(&r,
                  "error: w: tensor 'd.{i}.w' (i: 0 to 1): 2 of 6 values are "
                  "NaN or infinite, the first at [1, 1]; int8 has no such "
                  "numbers\n"
                  "error: w: tensor 'e': 2 of 6 values are NaN or infinite, "
                  "the first at [1, 1]; int4 has no such numbers\n"
                  "warning: w: tensor 'f': 2 of 6 values are NaN or "
                  "infinite, the first at [1, 1]\n");
    safetensors_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_what_does_not_fit),
        cmocka_unit_test(groups_layers),
        cmocka_unit_test(takes_longer_tables),
        cmocka_unit_test(joins_dimensions),
        cmocka_unit_test(integers_are_finite),
        cmocka_unit_test(parts_share_a_tensor),
        cmocka_unit_test(counts_every_missing_tensor),
        cmocka_unit_test(saves_packed_weights),
        cmocka_unit_test(saves_without_vocabularies),
    };
    return cmocka_run_group_tests(tests, go_to_scratch, scratch_remove);
}
