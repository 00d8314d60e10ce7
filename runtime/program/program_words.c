/* program_words.c: parses the command line according to the rows of
 * program_option ("--seed 7", "--seed=7", "-n9"), and answers --help and
 * --version. */

static void *option_at(struct program *p, const struct program_option *o)
{
    return (char *)p + o->at;
}

static int program_alone(const struct program *p)
{
    return p->file || p->m->weights_bytes == 0;
}

/* Returns the likely meaning of an unknown option, or NULL. */
static const char *option_hint(const struct program *p, const char *word,
                               int how)
{
    const char *names[PROGRAM_OPTIONS + 3];
    struct attn_options o;

    o.names = 0;
    for (; o.names < PROGRAM_OPTIONS; o.names++)
        names[o.names] = program_option[o.names].name;
    names[o.names] = "<";
    names[o.names + 1] = ">";
    names[o.names + 2] = "FILE.weights";
    o.names += program_alone(p) ? 2 : 3;
    o.name = names;
    o.synonym = program_synonym;
    o.synonyms = (int)(sizeof program_synonym / sizeof *program_synonym);
    return attn_option_hint(word, &o, how);
}

/* Returns the row of an option, or NULL if there is none. If the word also
 * contains a value, sets *value to it. A word such as -ngl is not -n with a
 * value. */
static const struct program_option *
option_of(const struct program *p, const char *word, const char **value)
{
    const int is_long = strncmp(word, "--", 2) == 0;

    *value = NULL;
    for (int i = 0; i < PROGRAM_OPTIONS; i++) {
        const struct program_option *o = &program_option[i];
        const size_t n = strlen(o->name);
        if (strncmp(word, o->name, n) != 0)
            continue;
        if (word[n] == '\0')
            return o;
        if (!o->takes || (is_long && word[n] != '=') || (!is_long && n > 2)
            || (!is_long && word[n] == '=')
            || (!is_long && option_hint(p, word, ATTN_HINT_NAMED)))
            continue;
        *value = word + n + is_long;
        return o;
    }
    return NULL;
}

static void option_unknown(struct program *p, const char *word)
{
    const char *hint = option_hint(p, word, ATTN_HINT_NEAR);
    const size_t n = strcspn(word, "=");
    char quoted[ATTN_QUOTED];

    attn_quote(word, (int64_t)n, quoted);
    for (int i = 0; i < PROGRAM_OPTIONS; i++) {
        const struct program_option *o = &program_option[i];
        if (strncmp(o->name, word, n) != 0 || o->name[n])
            continue;
        if (o->takes)
            program_fail(p, 2, "%s takes its value without '=': %s %s", o->name,
                         o->name, o->takes);
        else
            program_fail(p, 2, "%s takes no value", o->name);
        return;
    }
    if (!hint)
        program_fail(p, 2, "unknown option '%s'; --help lists them", quoted);
    else
        program_fail(p, 2,
                     *hint >= 'a' && *hint <= 'z'
                         ? "unknown option '%s': %s"
                         : "unknown option '%s': did you mean %s?",
                     quoted, hint);
}

/* ---- values ---- */

static double option_number(struct program *p, const struct program_option *o,
                            const char *text)
{
    const int whole = o->kind == OPTION_WHOLE;
    char *end, quoted[ATTN_QUOTED];
    double x;

    errno = 0;
    x = strtod(text, &end);
    attn_quote(text, (int64_t)strlen(text), quoted);
    if (end == text || *end != '\0' || errno != 0 || !(x - x >= 0.0)
        || (whole && x != floor(x)))
        program_fail(p, 2, "%s takes a%s number, not '%s'", o->name,
                     whole ? " whole" : "", quoted);
    else if (x < o->least || x > o->most)
        program_fail(p, 2, "%s %s is out of range: %.12g to %.12g", o->name,
                     quoted, o->least, o->most);
    return x;
}

static void option_add(struct program *p, struct program_list *l,
                       const char *text)
{
    const size_t bytes = (size_t)(l->n + 1) * sizeof *l->at;
    const char **at = realloc(l->at, bytes);

    if (!at) {
        program_fail(p, 5, "out of memory");
        return;
    }
    l->at = at;
    l->at[l->n] = text;
    l->n++;
}

static void option_take(struct program *p, const struct program_option *o,
                        const char *text)
{
    void *at = option_at(p, o);
    double x = 0.0;

    if (o->kind == OPTION_WHOLE || o->kind == OPTION_REAL)
        x = option_number(p, o, text);
    if (p->status != 0)
        return;
    if (o->kind == OPTION_FLAG)
        *(bool *)at = true;
    else if (o->kind == OPTION_WHOLE)
        *(int64_t *)at = (int64_t)x;
    else if (o->kind == OPTION_REAL)
        *(float *)at = (float)x;
    else if (o->kind == OPTION_TEXT)
        *(const char **)at = text;
    else
        option_add(p, at, text);
    p->given |= (uint64_t)1 << (o - program_option);
}

static void option_defaults(struct program *p)
{
    for (int i = 0; i < PROGRAM_OPTIONS; i++) {
        const struct program_option *o = &program_option[i];
        if (o->kind == OPTION_WHOLE)
            *(int64_t *)option_at(p, o) = (int64_t)o->default_value;
        if (o->kind == OPTION_REAL)
            *(float *)option_at(p, o) = (float)o->default_value;
    }
}

/* ---- help ---- */

static void program_usage(const struct program *p, FILE *to)
{
#if ATTN_HAS_RANKS
    fprintf(to, "usage: mpirun -n %lld ", (long long)p->m->fixed_ranks);
#else
    fprintf(to, "usage: ");
#endif
    fprintf(to, "%s [options]%s < lines\n", p->name,
            program_alone(p) ? "" : " model.weights");
}

static void program_help(struct program *p)
{
    const char *group = "";

    program_usage(p, stdout);
    printf("%s answers each line of stdin.\n", p->m->name);
    for (int i = 0; i < PROGRAM_OPTIONS; i++) {
        const struct program_option *o = &program_option[i];
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", o->name,
                 !o->takes           ? ""
                 : o->name[1] == '-' ? "="
                                     : " ",
                 o->takes ? o->takes : "");
        if (strcmp(group, o->group) != 0)
            printf("\n%s:\n", o->group);
        group = o->group;
        printf("  %-27s %s\n", left, o->help);
    }
    printf("\nExit codes: 0 done, 2 usage, 3 bad input, 4 input or output, "
           "5 memory,\n6 a processor that it is not made for.\n");
    program_flush(p, stdout);
}

static void program_version(struct program *p)
{
    printf("%s, made by attnc %s: spec %016llx, weights %016llx, code for %s\n",
           p->m->name, PROGRAM_ATTNC, (unsigned long long)p->m->spec_hash,
           (unsigned long long)p->m->weights_hash, p->m->target(NULL));
    program_flush(p, stdout);
}

/* ---- reading ---- */

/* True if the words contain --help or -h, other than as the value of an
 * option. */
static int words_help(const struct program *p, int n, char **word)
{
    const char *value;

    for (int i = 0; i < n && strcmp(word[i], "--") != 0; i++) {
        const struct program_option *o = option_of(p, word[i], &value);
        if (strcmp(word[i], "-h") == 0 || strcmp(word[i], "--help") == 0)
            return 1;
        if (o && o->takes && !value)
            i++;
    }
    return 0;
}

/* Parses an option, whose value may be `next`. Returns the number of words
 * used. */
static int words_option(struct program *p, const char *word, const char *next)
{
    const char *value;
    const struct program_option *o = option_of(p, word, &value);

    if (!o)
        option_unknown(p, word);
    else if (o->takes && !value && !next)
        program_fail(p, 2, "%s takes a value: %s %s", o->name, o->name,
                     o->takes);
    else {
        const int apart = o->takes && !value;
        option_take(p, o, apart ? next : value);
        return apart ? 2 : 1;
    }
    return 1;
}

static void words_operand(struct program *p, const char *word)
{
    char quoted[ATTN_QUOTED], other[ATTN_QUOTED];

    attn_quote(word, (int64_t)strlen(word), quoted);
    if (program_alone(p)) {
        program_fail(p, 2, "no file is taken: '%s'", quoted);
    } else if (p->path) {
        attn_quote(p->path, (int64_t)strlen(p->path), other);
        program_fail(p, 2, "one file at a time: '%s' and '%s'", other, quoted);
    } else
        p->path = word;
}

/* Rejects options that do not apply to the selected use. */
static void words_check(struct program *p)
{
    p->use = program_use(p);
    if (p->status == 0)
        shard_words(p);
    if (p->status == 0 && p->output && !p->shard)
        program_fail(p, 2, "-o names the files of --shard: use > FILE");
    for (int i = 0; i < PROGRAM_OPTIONS && p->status == 0; i++) {
        const struct program_option *o = &program_option[i];
        if ((p->given >> i & 1) != 0 && (o->use & p->use) == 0)
            program_fail(p, 2, "%s is for %s, not for %s%s", o->name,
                         attn_use_text(o->use), attn_use_text(p->use),
                         attn_use_hint(o->name, p->use));
    }
    if (p->status == 0 && p->set.draft && strcmp(p->set.draft, "ngram") != 0)
        program_fail(p, 2, "--draft takes ngram"); /* attnc: also a model */
}

/* Parses the command line. Returns 0 if there is nothing left to do. */
static int program_words(struct program *p, int n, char **word)
{
    int options = 1, i = 0;

    option_defaults(p);
    if (words_help(p, n, word)) {
        program_help(p);
        return 0;
    }
    while (i < n && p->status == 0 && !p->version) {
        if (!options || word[i][0] != '-' || word[i][1] == '\0') {
            words_operand(p, word[i]);
            i++;
        } else if (strcmp(word[i], "--") == 0) {
            options = 0;
            i++;
        } else
            i += words_option(p, word[i], i + 1 < n ? word[i + 1] : NULL);
    }
    if (p->status == 0 && p->version) {
        program_version(p);
        return 0;
    }
    if (p->status == 0)
        words_check(p);
    if (p->status == 0 && !p->path && !program_alone(p)) {
        program_usage(p, stderr);
        fprintf(stderr, "%s --help lists the options\n", p->name);
        p->status = 2;
    }
    return p->status == 0;
}
