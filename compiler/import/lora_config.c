/* lora_config.c: reads the adapter_config.json of an adapter, as peft writes
 * it. Every key that changes what is computed is applied or rejected. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/lora.h"
#include "runtime/base/json.h"

enum { ConfigLimit = 1 << 20 };

static bool bad(const Adapter *l, Fault *why, const char *key, const char *what)
{
    return fault(why, ExitInput, "%s: '%.80s' %s", l->path, key, what);
}

static const char by_peft[] =
    "merge it in Python by peft's merge_and_unload(), save that model, and "
    "import its folder";

/* ---- keys ---- */

/* Keys that are applied here, or that say how the adapter was trained. */
static const char *const known[] = {
    "peft_type",
    "r",
    "lora_alpha",
    "use_rslora",
    "alpha_pattern",
    "rank_pattern",
    "init_lora_weights",
    "target_modules",
    "exclude_modules",
    "layers_to_transform",
    "layers_pattern",
    "modules_to_save",
    "bias",
    "fan_in_fan_out",
    "auto_mapping",
    "base_model_name_or_path",
    "revision",
    "task_type",
    "inference_mode",
    "peft_version",
    "lora_dropout",
    "megatron_core",
    "loftq_config",
    "eva_config",
    "corda_config",
    "lora_ga_config",
    "velora_config",
    "qalora_group_size",
    "runtime_config",
    "ensure_weight_tying",
};

/* Keys of adapters that compute more than W + s B A. */
static const char *const others[] = {
    "use_dora",          "lora_bias",
    "layer_replication", "use_qalora",
    "target_parameters", "trainable_token_indices",
    "megatron_config",   "alora_invocation_tokens",
    "arrow_config",      "use_bdlora",
    "kasa_config",       "monteclora_config",
};

#define LISTS(list, key) lists((list), sizeof(list) / sizeof *(list), (key))
static bool lists(const char *const *list, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], key))
            return true;
    return false;
}

static bool is_off(const json_t *v)
{
    return !v || json_is_null(v) || json_is_false(v)
        || (json_is_array(v) && json_array_size(v) == 0)
        || (json_is_object(v) && json_object_size(v) == 0);
}

static bool check_known(Adapter *l, Fault *why)
{
    const char *key;
    json_t *v;
    json_object_foreach(l->root, key, v)
    {
        if (LISTS(known, key) || is_off(v))
            continue;
        if (LISTS(others, key)) {
            l->note = by_peft;
            return bad(l, why, key,
                       "is set: only adapters that add a product of two "
                       "matrices can be merged");
        }
        l->note = "if it changes nothing that is computed, remove it";
        return bad(l, why, key, "is not a known key of an adapter");
    }
    return true;
}

/* Rejects an initialisation that subtracts the first product from the model's
 * own weights: the adapter has only the difference from these. */
static bool check_start(Adapter *l, Fault *why)
{
    static const char *const same[] = { "gaussian", "eva", "orthogonal",
                                        "mica" };
    static const char *const changes[] = { "pissa", "olora", "corda", "loftq",
                                           "lora_ga" };
    const char key[] = "init_lora_weights";
    const json_t *v = json_object_get(l->root, key);
    const char *word = json_string_value(v);
    if (!v || json_is_null(v) || json_is_boolean(v)
        || (word && LISTS(same, word)))
        return true;
    for (size_t i = 0; word && i < sizeof changes / sizeof *changes; i++)
        if (!strncmp(word, changes[i], strlen(changes[i]))) {
            l->note = "save it again by peft's save_pretrained() with "
                      "path_initial_model_for_weight_conversion, or merge it "
                      "where it was trained";
            return bad(l, why, key,
                       arena_printf(l->arena,
                                    "is \"%.40s\", which also changes weights "
                                    "of the model that the adapter does not "
                                    "have",
                                    word));
        }
    l->note = by_peft;
    return bad(l, why, key, "has a value that is not known");
}

static bool read_flag(const Adapter *l, const char *key, bool *to, Fault *why)
{
    const json_t *v = json_object_get(l->root, key);
    *to = json_is_true(v);
    return !v || json_is_boolean(v) || json_is_null(v)
        || bad(l, why, key, "is true or false");
}

static bool take_config(Adapter *l, Fault *why)
{
    static const char *const maps[] = { "alpha_pattern", "rank_pattern" };
    const char *type = json_string_value(json_object_get(l->root, "peft_type"));
    const json_t *alpha = json_object_get(l->root, "lora_alpha");
    const json_t *rank = json_object_get(l->root, "r");
    bool turned; /* peft decides by the class of each module, too */

    if (!type || strcmp(type, "LORA"))
        return bad(l, why, "peft_type", "is LORA, the only one that is known");
    if (!check_known(l, why) || !check_start(l, why))
        return false;
    if (!json_is_number(alpha) || !isfinite(json_number_value(alpha)))
        return bad(l, why, "lora_alpha", "is a number");
    if (rank && (!json_is_integer(rank) || json_integer_value(rank) < 1))
        return bad(l, why, "r", "is a positive integer");
    l->alpha = json_number_value(alpha);
    l->rank = json_integer_value(rank);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        const json_t *v = json_object_get(l->root, maps[i]);
        if (v && !json_is_object(v) && !json_is_null(v))
            return bad(l, why, maps[i], "maps modules to numbers");
    }
    return read_flag(l, "use_rslora", &l->by_root, why)
        && read_flag(l, "fan_in_fan_out", &turned, why);
}

bool adapter_read(Arena *a, Adapter *l, const char *folder, Fault *why)
{
    File f;
    json_error_t e;
    *l = (Adapter){ .arena = a,
                    .path = arena_printf(a, "%s/adapter_config.json", folder) };
    if (!file_read(&f, l->path, ConfigLimit, why))
        return false;
    const JsonText text = { l->path, (const char *)f.at, f.size, false, false };
    bool ok = json_read(&l->root, &text, &e, why);
    file_close(&f);
    if (ok && !l->root)
        ok = fault(why, ExitInput, "%s:%d:%d: %s", l->path, e.line, e.column,
                   e.text);
    if (ok && !json_is_object(l->root))
        ok = fault(why, ExitInput, "%s: an object is expected", l->path);
    return ok && take_config(l, why);
}

/* ---- modules ---- */

bool names_module(const char *name, const char *module)
{
    const size_t n = strlen(name), m = strlen(module);
    return n >= m && !strcmp(name + n - m, module)
        && (n == m || name[n - m - 1] == '.');
}

/* Matches a module with a pattern. Returns false after an error. */
static bool fits(Adapter *l, const char *key, const char *pattern, bool tail,
                 const char *module, bool *to, Fault *why)
{
    const PatternResult r = python_pattern(l->arena, pattern, tail, module);
    *to = r == PatternFits;
    if (r != PatternUnknown)
        return true;
    l->note = "name the modules instead: .*, +, ?, |, (), [], ^, $, \\., \\d "
              "and \\w are known";
    return bad(l, why, key,
               arena_printf(l->arena,
                            "has a regular expression that is not known to "
                            "mean the same outside of Python: '%.120s'",
                            pattern));
}

/* Returns the number of the first pattern that fits the module; NULL: none.
 * Sets *good to false after an error. */
static const json_t *number_of(Adapter *l, const char *key, const char *module,
                               bool *good, Fault *why)
{
    const char *pattern;
    json_t *v;
    json_object_foreach(json_object_get(l->root, key), pattern, v)
    {
        bool same;
        *good = json_is_number(v) && isfinite(json_number_value(v));
        if (!*good)
            bad(l, why, key, "maps modules to numbers");
        *good = *good && fits(l, key, pattern, true, module, &same, why);
        if (!*good)
            return NULL;
        if (same)
            return v;
    }
    return NULL;
}

/* Matches a module with a list of names, or with a pattern of complete
 * names. */
static PatternResult selects(const Adapter *l, const char *key,
                             const char *module)
{
    const json_t *v = json_object_get(l->root, key);
    if (json_is_string(v))
        return python_pattern(l->arena, json_string_value(v), false, module);
    for (size_t i = 0; i < json_array_size(v); i++) {
        const char *name = json_string_value(json_array_get(v, i));
        if (name && names_module(module, name))
            return PatternFits;
    }
    return PatternMissed;
}

/* Returns true if the module is one of modules_to_save or inside of one. */
static bool is_saved(const Adapter *l, const char *module)
{
    for (const char *end = module; *end; end += *end == '.') {
        end += strcspn(end, ".");
        const char *outer = arena_strndup(l->arena, module,
                                          (size_t)(end - module));
        if (selects(l, "modules_to_save", outer) == PatternFits)
            return true;
    }
    return false;
}

/* Returns true if a number in the name is one of layers_to_transform, or if
 * target_modules has the complete name, for which no layer is needed. */
static bool has_layer(const Adapter *l, const char *module)
{
    const json_t *v = json_object_get(l->root, "layers_to_transform");
    const json_t *targets = json_object_get(l->root, "target_modules");
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const char *name = json_string_value(json_array_get(targets, i));
        if (name && !strcmp(name, module))
            return true;
    }
    for (const char *at = module; *at; at += *at == '.') {
        const size_t n = strcspn(at, "."), digits = strspn(at, "0123456789");
        const long long layer = strtoll(at, NULL, 10);
        if (n && n == digits && json_is_integer(v)
            && json_integer_value(v) == layer)
            return true;
        for (size_t i = 0; n && n == digits && i < json_array_size(v); i++)
            if (json_integer_value(json_array_get(v, i)) == layer)
                return true;
        at += n;
    }
    return false;
}

/* Returns the key that makes peft ignore an update of the module; NULL: none. A
 * pattern that is not known selects what is there. */
static const char *ignored_by(const Adapter *l, const char *module)
{
    const json_t *targets = json_object_get(l->root, "target_modules");
    const char *word = json_string_value(targets);
    if (!is_off(targets) && !(word && !strcmp(word, "all-linear"))
        && selects(l, "target_modules", module) == PatternMissed)
        return "target_modules";
    if (selects(l, "exclude_modules", module) == PatternFits)
        return "exclude_modules";
    if (json_is_array(targets)
        && !is_off(json_object_get(l->root, "layers_to_transform"))
        && !has_layer(l, module))
        return "layers_to_transform";
    return is_saved(l, module) ? "modules_to_save" : NULL;
}

static bool check_targets(const Adapter *l, const char *module, Fault *why)
{
    const char *key = ignored_by(l, module);
    return !key
        || bad(l, why, key,
               arena_printf(l->arena,
                            "leaves out module '%.120s', of which the adapter "
                            "has an update",
                            module));
}

bool adapter_scale(Adapter *l, const char *module, int64_t rank, double *scale,
                   Fault *why)
{
    bool good = true;
    if (!check_targets(l, module, why))
        return false;
    const json_t *alpha = number_of(l, "alpha_pattern", module, &good, why);
    const json_t *own = good ? number_of(l, "rank_pattern", module, &good, why)
                             : NULL;
    if (!good)
        return false;
    const double r = own ? json_number_value(own) : (double)l->rank;
    if (r > 0 && r != (double)rank)
        return bad(l, why, own ? "rank_pattern" : "r",
                   arena_printf(l->arena,
                                "is %g for module '%.120s', but its update has "
                                "rank %d",
                                r, module, (int)rank));
    *scale = (alpha ? json_number_value(alpha) : l->alpha)
           / (l->by_root ? sqrt((double)rank) : (double)rank);
    return true;
}
