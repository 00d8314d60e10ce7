/* search.c: which sentences of a file are nearest in meaning to a question?
 *
 *     search minilm.weights SENTENCES < QUESTIONS
 *
 * Each line of the file becomes a row of MINILM_OUTPUT numbers of length 1, and
 * so does each question. Rows are compared by their product, the cosine of the
 * angle between them: 1 is the same, 0 has nothing in common. Where the weights
 * are inside of the program, - stands for their file. The model is that
 * of minilm.h, which attnc makes from the folder of a checkpoint
 * (tests/demo_embed.sh shows how).                                          */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "minilm.h"

enum { Best = 3, Most = 100000 };

typedef struct {
    char *text;
    float row[MINILM_OUTPUT];
} Sentence;

static struct attn_handle *model;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *need(void *at)
{
    if (!at) {
        fputs("search: out of memory\n", stderr);
        exit(1);
    }
    return at;
}

static void embed(const char *text, float *row)
{
    if (minilm_embed(model, text, -1, row) < 0) {
        fprintf(stderr, "search: %s\n", minilm_error(model));
        exit(1);
    }
}

static float similarity(const float *a, const float *b)
{
    float sum = 0;
    for (int i = 0; i < MINILM_OUTPUT; i++)
        sum += a[i] * b[i];
    return sum;
}

/* A line without its end; NULL: there is no more. */
static char *line_of(FILE *f, char **line, size_t *room)
{
    ssize_t n = getline(line, room, f);
    if (n > 0 && (*line)[n - 1] == '\n')
        (*line)[n - 1] = 0;
    return n < 0 ? NULL : *line;
}

static Sentence *read_sentences(const char *path, int *n)
{
    Sentence *s = NULL;
    char *line = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        exit(1);
    }
    for (*n = 0; *n < Most && line_of(f, &line, &room); ++*n) {
        if (*n % 1024 == 0)
            s = need(realloc(s, (size_t)(*n + 1024) * sizeof *s));
        s[*n].text = need(strdup(line));
        embed(line, s[*n].row);
    }
    free(line);
    fclose(f);
    return s;
}

/* Prints the sentences nearest to the question, the nearest first. */
static void answer(const char *question, const Sentence *s, int n)
{
    float row[MINILM_OUTPUT], score[Best];
    int best[Best], found = 0;
    embed(question, row);
    for (int i = 0; i < n; i++) {
        float x = similarity(row, s[i].row);
        int at = found < Best ? found++ : Best;
        for (; at > 0 && x > score[at - 1]; at--)
            if (at < Best) {
                score[at] = score[at - 1];
                best[at] = best[at - 1];
            }
        if (at < Best) {
            score[at] = x;
            best[at] = i;
        }
    }
    printf("%s\n", question);
    for (int i = 0; i < found; i++)
        printf("    %.3f  %s\n", (double)score[i], s[best[i]].text);
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    int n, questions = 0;
    if (argc != 3) {
        fputs("usage: search minilm.weights SENTENCES < QUESTIONS\n", stderr);
        return 2;
    }
    model = minilm_open(strcmp(argv[1], "-") ? argv[1] : NULL, NULL);
    if (*minilm_error(model)) {
        fprintf(stderr, "search: %s\n", minilm_error(model));
        return 1;
    }
    double start = now();
    Sentence *s = read_sentences(argv[2], &n);
    double read = now();
    for (; line_of(stdin, &line, &room); questions++)
        answer(line, s, n);
    double end = now();
    fprintf(stderr, "%d sentences, %.0f a second; %d questions, %.1f ms each\n",
            n, n / (read - start), questions, 1e3 * (end - read) / questions);
    for (int i = 0; i < n; i++)
        free(s[i].text);
    free(s);
    free(line);
    minilm_close(model);
    return 0;
}
