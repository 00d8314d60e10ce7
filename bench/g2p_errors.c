/* g2p_errors: phoneme and word error of g2p-en's output on stdin.
 *
 *     cut -f1 heldout.txt | attnc run g2p-en.yaml | g2p_errors heldout.txt
 *
 * Line i of stdin answers line i of heldout.txt: a word, then each of its
 * pronunciations, with tabs between; phonemes have spaces between. As in
 * train.py, an answer counts against the nearest pronunciation (the first of
 * equals) and by that one's length; a word is wrong if no one matches.       */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MaxPhones = 128 };

typedef struct {
    char *at[MaxPhones];
    int n;
} Phones;
typedef struct {
    long words, phones, edits, wrong;
} Count;

static _Noreturn void stop(const char *what, long line)
{
    fprintf(stderr, "g2p_errors: line %ld: %s\n", line, what);
    exit(3);
}

/* Splits `text` in place. */
static void split_phones(Phones *p, char *text, long line)
{
    char *rest = NULL;
    p->n = 0;
    for (char *t = strtok_r(text, " \n", &rest); t;
         t = strtok_r(NULL, " \n", &rest)) {
        if (p->n == MaxPhones)
            stop("more than 128 phonemes", line);
        p->at[p->n++] = t;
    }
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Least number of insertions, deletions and changes from a to b. */
static int edits(const Phones *a, const Phones *b)
{
    int row[MaxPhones + 1];
    for (int j = 0; j <= b->n; j++)
        row[j] = j;
    for (int i = 0; i < a->n; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < b->n; j++) {
            int change = diagonal + (strcmp(a->at[i], b->at[j]) != 0);
            diagonal = row[j + 1];
            row[j + 1] = least(change, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[b->n];
}

/* Adds one answer; `expected` is a line of heldout.txt. */
static void count_word(Count *c, const Phones *answer, char *expected)
{
    char *rest = NULL;
    int best = -1, length = 0;
    strtok_r(expected, "\t\n", &rest);
    for (char *t = strtok_r(NULL, "\t\n", &rest); t;
         t = strtok_r(NULL, "\t\n", &rest)) {
        Phones reference;
        split_phones(&reference, t, c->words + 1);
        int distance = edits(answer, &reference);
        if (best < 0 || distance < best) {
            best = distance;
            length = reference.n;
        }
    }
    if (best < 0)
        stop("no pronunciation", c->words + 1);
    c->words++;
    c->phones += length;
    c->edits += best;
    c->wrong += best > 0;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fputs("usage: g2p_errors heldout.txt <answers\n", stderr);
        return argc == 2 ? 4 : 2;
    }
    Count c = { 0, 0, 0, 0 };
    char *expected = NULL, *text = NULL;
    size_t expected_cap = 0, text_cap = 0;
    while (getline(&expected, &expected_cap, file) > 0) {
        Phones answer;
        if (getline(&text, &text_cap, stdin) <= 0)
            stop("no answer", c.words + 1);
        split_phones(&answer, text, c.words + 1);
        count_word(&c, &answer, expected);
    }
    if (getline(&text, &text_cap, stdin) > 0)
        stop("more answers than words", c.words + 1);
    if (c.phones == 0)
        stop("no words", 1);
    printf("%ld words: phoneme error %.4f %%, word error %.4f %%\n", c.words,
           100.0 * (double)c.edits / (double)c.phones,
           100.0 * (double)c.wrong / (double)c.words);
    free(expected);
    free(text);
    fclose(file);
    return 0;
}
