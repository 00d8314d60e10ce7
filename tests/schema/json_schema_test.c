/* json_schema_test.c: tests the messages about JSON schemas, and that changed
 * bytes of schemas give a grammar or a message. The texts of grammars are held
 * to a validator by tests/schema/schema_answers_test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"

#include <cmocka.h>

/* Compiles a schema. Returns the message, or NULL. */
static const char *message(Arena *a, const char *text, size_t n, Fault *why)
{
    Buffer b = { .arena = a };
    const File f = { .path = "s.json",
                     .at = (const unsigned char *)text,
                     .size = n };
    if (!schema_grammar(&b, &f, why))
        return why->text;
    assert_true(b.n > 0);
    return NULL;
}

#define TEN(x) x x x x x x x x x x
#define LONG TEN(TEN("ab"))
#define ITEMS TEN("{},{},{},{},{},")

static const struct {
    const char *schema, *message;
} rows[] = {
    { "{\"type\":\"integer\"", "s.json:1:17: '}' expected near end of file" },
    { "[]", "s.json: #: a schema is an object, true or false" },
    { "{\"properties\":{\"a\":false}}",
      "s.json: #/properties/a: no value is allowed here" },
    { "{\"pattern\":\"a\"}",
      "s.json: #/pattern: this keyword is not supported: leave it out" },
    { "{\"properties\":{\"a/~\":{\"multipleOf\":2}}}",
      "s.json: #/properties/a~1~0/multipleOf: this keyword is not supported: "
      "leave it out" },
    { "{\"$ref\":\"#/$defs/a\",\"type\":\"null\",\"$defs\":{\"a\":true}}",
      "s.json: #/type: this can't stand beside $ref: write both in one schema, "
      "or leave one out" },
    { "{\"enum\":[1],\"minimum\":2}",
      "s.json: #/minimum: this can't stand beside enum: write both in one "
      "schema, or leave one out" },
    { "{\"type\":\"text\"}",
      "s.json: #/type: a type is null, boolean, integer, number, string, array "
      "or object" },
    { "{\"type\":[]}", "s.json: #/type: this list has no type" },
    { "{\"enum\":[]}", "s.json: #/enum: a list of values is expected" },
    { "{\"const\":1,\"type\":\"string\"}",
      "s.json: #: no value here has the type" },
    { "{\"anyOf\":[]}", "s.json: #/anyOf: a list of schemas is expected" },
    { "{\"allOf\":[{},{}]}",
      "s.json: #/allOf: only one schema can be here: write what all of them "
      "say in one" },
    { "{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}",
      "s.json: #/oneOf: schemas 0 and 1 may match the same value: write anyOf, "
      "or give them a required property with different constants" },
    { "{\"oneOf\":[{\"$ref\":\"#/x\"},{}]}",
      "s.json: #/oneOf/$ref: nothing is at '#/x': a reference begins with # "
      "and leads to a part of this file" },
    { "{\"$ref\":\"other.json\"}",
      "s.json: #/$ref: nothing is at 'other.json': a reference begins with # "
      "and leads to a part of this file" },
    { "{\"$ref\":\"#\"}",
      "s.json: #: this schema leads back to itself, and to no value: end the "
      "circle of $ref" },
    { "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":"
      "\"#/$defs/b\"},{\"type\":\"null\"}]},\"b\":{\"$ref\":\"#/$defs/a\"}}}",
      "s.json: #/$defs/a: this schema leads back to itself, and to no value: "
      "end the circle of $ref" },
    { "{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}",
      "s.json: #: every value of this schema contains another of its values: "
      "make that optional" },
    { "{\"properties\":[]}",
      "s.json: #/properties: an object of schemas is expected" },
    { "{\"required\":[1]}", "s.json: #/required: a list of names is expected" },
    { "{\"required\":\"a\"}",
      "s.json: #/required: a list of names is expected" },
    { "{\"required\":[\"a\"],\"additionalProperties\":false}",
      "s.json: #/additionalProperties: no value is allowed here" },
    { "{\"additionalProperties\":\"false\"}",
      "s.json: #/additionalProperties: a schema is an object, true or false" },
    { "{\"properties\":{\"" LONG "\":true},\"additionalProperties\":{}}",
      "s.json: #/properties/" LONG ": beside other members a name has at most "
      "190 bytes: shorten it, or set additionalProperties to false" },
    { "{\"prefixItems\":[" ITEMS ITEMS ITEMS ITEMS "{}]}",
      "s.json: #: at most 190 of the first items can be left out: raise "
      "minItems" },
    { "{\"oneOf\":[{\"const\":[1]},{\"const\":[1.0]}]}",
      "s.json: #/oneOf: schemas 0 and 1 may match the same value: write anyOf, "
      "or give them a required property with different constants" },
    { "{\"prefixItems\":{}}",
      "s.json: #/prefixItems: a list of schemas is expected" },
    { "{\"minItems\":2,\"maxItems\":1}",
      "s.json: #: no array has this many items: minItems is greater than what "
      "maxItems or prefixItems allow" },
    { "{\"minItems\":-1}",
      "s.json: #/minItems: an integer from 0 to 1000000 is expected" },
    { "{\"minLength\":2,\"maxLength\":1}",
      "s.json: #: no string is so long: minLength is greater than maxLength" },
    { "{\"maxLength\":1000000}",
      "s.json: #: the grammar has more than 262144 states: repeat less" },
    { "{\"format\":\"email\"}",
      "s.json: #/format: a format is date, time, date-time or uuid: leave "
      "others out" },
    { "{\"format\":\"date\",\"minLength\":1}",
      "s.json: #: a format can't have minLength or maxLength: leave them out" },
    { "{\"minimum\":\"1\"}", "s.json: #/minimum: a number is expected" },
    { "{\"maximum\":1e15}", "s.json: #/maximum: a bound is less than 1e15" },
    { "{\"type\":\"integer\",\"minimum\":0.5,\"maximum\":0.75}",
      "s.json: #: no integer is within the bounds" },
    { "{\"type\":\"number\",\"minimum\":1,\"exclusiveMaximum\":1}",
      "s.json: #: no number is within the bounds" },
    { "{\"minimum\":1e-10}",
      "s.json: #: a bound of numbers has at most 9 decimals, and both have at "
      "most 15 digits together" },
};

static void messages(void **unused)
{
    (void)unused;
    Arena *a = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Fault why = { 0 };
        const char *text = rows[i].schema;
        const char *got = message(a, text, strlen(text), &why);
        assert_string_equal(got ? got : "none", rows[i].message);
    }
    arena_free(a);
}

static const char good_schema[] =
    "{\"type\":\"object\",\"properties\":{\"ab\":{\"type\":\"integer\","
    "\"minimum\":-120,\"maximum\":99},\"a]\":{\"type\":\"number\","
    "\"exclusiveMinimum\":-0.25},\"c\":{\"prefixItems\":[{\"format\":"
    "\"uuid\"},{\"maxLength\":3}],\"items\":{\"enum\":[1,\"x\",null]},"
    "\"maxItems\":4}},\"required\":[\"c\"],\"additionalProperties\":"
    "{\"type\":[\"null\",\"array\"]}}";

/* Changes bytes of the schemas above, joined with one that is right. */
static void changed_schemas(void **unused)
{
    static const char bytes[] = "{}[]\":,0123456789-.e#/~$abtrueflsn\\ ";
    enum { Rounds = 20000, Most = 2000, Rows = sizeof rows / sizeof *rows };
    (void)unused;
    Arena *a = arena_new();
    int good = 0;
    srand(1);
    for (int i = 0; i < Rounds; i++) {
        char text[Most];
        Fault why = { 0 };
        const int n = snprintf(text, Most, "{\"anyOf\":[%s,%s]}", good_schema,
                               rows[rand() % Rows].schema);
        assert_in_range(n, 1, Most - 1);
        for (int k = rand() % 4; k > 0; k--)
            text[rand() % n] = bytes[(size_t)rand() % (sizeof bytes - 1)];
        good += message(a, text, (size_t)n, &why) == NULL;
        arena_reset(a);
    }
    assert_true(good > 0);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(messages),
                                        cmocka_unit_test(changed_schemas) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
