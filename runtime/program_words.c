/* program_words.c: the words behind the weights: options that mean what those
 * of the same name of attnc run mean: "--seed 7", or "--seed=7".             */

static const struct { /* by WORD_TOKENS .. */
    const char *name;
    int whole;                 /* no fractions */
    double least, most, other; /* other: where it is not given */
} word_numbers[WORD_NUMBERS] = {
    { "-n", 1, 0.0, 2147483647.0, -1.0 },
    { "--temperature", 0, 0.0, 1e6, -1.0 },
    { "--top-k", 1, 0.0, 2147483647.0, 0.0 },
    { "--top-p", 0, 0.0, 1.0, 0.0 },
    { "--min-p", 0, 0.0, 1.0, 0.0 },
    { "--seed", 1, 0.0, 2147483647.0, 1.0 },
    { "--repetition-penalty", 0, 0.001, 1000.0, 0.0 },
    { "--threads", 1, 1.0, ATTN_POOL_MOST, -1.0 },
};

static const char *const word_texts[WORD_TEXTS] = { /* by WORD_PROMPT .. */
                                                    "--prompt", "--stop",
                                                    "--load-state",
                                                    "--save-state"
};

static const char *program_help(void)
{
    return "options: --prompt TEXT        answer this, as the answer comes\n"
           "         -n N                 tokens of that answer, at most\n"
           "         --temperature X      draw tokens; 0: take the best\n"
           "         --top-k N            of the N best alone\n"
           "         --top-p X            of the best of this probability\n"
           "         --min-p X            at least so probable, beside the "
           "best\n"
           "         --seed N             of the draws\n"
           "         --repetition-penalty X\n"
           "         --stop TEXT          end before this text\n"
           "         --save-state FILE    keep the state behind the answer; "
           "- is stdout\n"
           "         --load-state FILE    go on from there\n"
           "         --quiet              do not say how fast it was\n"
           "         --threads N          default: one a physical core\n"
           "         --no-check           do not hold the weights to their "
           "hash\n";
}

static int words_wrong(const struct program *p, const char *name,
                       const char *why)
{
    fprintf(stderr, "%s: error: %s: %s\n", p->name, name, why);
    return 0;
}

static int words_number(struct program *p, int i, const char *text)
{
    char *end, why[80];
    const double least = word_numbers[i].least, most = word_numbers[i].most;
    const double x = strtod(text, &end);
    int right = end != text && *end == '\0' && x >= least && x <= most;

    if (right && word_numbers[i].whole)
        right = x == (double)(int64_t)x;
    if (!right) {
        snprintf(why, sizeof why, "a%s number from %.12g to %.12g is expected",
                 word_numbers[i].whole ? " whole" : "", least, most);
        return words_wrong(p, word_numbers[i].name, why);
    }
    p->number[i] = x;
    return 1;
}

static int words_text(struct program *p, int i, const char *text)
{
    p->word[i] = text;
    if (i != WORD_STOP)
        return 1;
    if (p->stops == PROGRAM_STOPS)
        return words_wrong(p, word_texts[i], "too many of them");
    p->stop[p->stops] = text;
    p->stops++;
    return 1;
}

/* The value of an option: in the word itself, as in "--seed=7" and "-n9", or
 * the word after it. NULL: the word is not that option.                     */
static const char *words_value(const char *name, char **word, int n, int *used)
{
    const size_t size = strlen(name);

    if (strncmp(word[0], name, size) != 0)
        return NULL;
    *used = 1;
    if (word[0][size] == '=')
        return word[0] + size + 1;
    if (word[0][size] != '\0' && size == 2)
        return word[0] + size;
    if (word[0][size] != '\0' || n < 2)
        return NULL;
    *used = 2;
    return word[1];
}

/* Takes one option; how many words it has, 0: it is wrong. */
static int words_option(struct program *p, char **word, int n)
{
    int used = 1;

    if (strcmp(word[0], "--quiet") == 0) {
        p->quiet = 1;
        return used;
    }
    for (int i = 0; i < WORD_NUMBERS; i++) {
        const char *value = words_value(word_numbers[i].name, word, n, &used);
        if (value)
            return words_number(p, i, value) ? used : 0;
    }
    for (int i = 0; i < WORD_TEXTS; i++) {
        const char *value = words_value(word_texts[i], word, n, &used);
        if (value)
            return words_text(p, i, value) ? used : 0;
    }
    return words_wrong(p, word[0], "no such option, or its value is missing");
}

static int program_words(struct program *p, int n, char **word)
{
    const char *of_prompt = NULL; /* a word that is for it alone */
    int at = 0;

    for (int i = 0; i < WORD_NUMBERS; i++)
        p->number[i] = word_numbers[i].other;
    while (at < n) {
        if (program_file_word(p, word[at])) {
            at++;
            continue;
        }
        const int used = words_option(p, word + at, n - at);
        if (used == 0)
            return 0;
        if (!of_prompt && strncmp(word[at], "--threads", 9) != 0)
            of_prompt = word[at];
        at += used;
    }
    if (of_prompt && !p->word[WORD_PROMPT] && !p->word[WORD_LOAD])
        return words_wrong(p, of_prompt, "this is for --prompt, not for lines");
    return 1;
}
