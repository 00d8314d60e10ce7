/* scratch.h: a folder for one test program's files, and functions for files.
 * Included after cmocka's headers; the program defines _GNU_SOURCE. */
#ifndef ATTNC_SCRATCH_H
#define ATTNC_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char scratch[64];

static inline int scratch_make(void **state)
{
    (void)state;
    strcpy(scratch, "/tmp/attnc_test_XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

/* Removes what the folder has; the number of entries that it had. */
static inline int scratch_empty(void)
{
    int n = 0;
    DIR *d = opendir(scratch);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(path, sizeof path, "%s/%s", scratch, e->d_name);
        assert_int_equal(remove(path), 0);
        n++;
    }
    closedir(d);
    return n;
}

static inline int scratch_remove(void **state)
{
    (void)state;
    scratch_empty();
    return rmdir(scratch);
}

/* Returns the path of a file there; valid until the eighth next call. */
static inline const char *scratch_path(const char *name)
{
    static char path[8][512];
    static int next;
    char *p = path[next++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", scratch, name);
    return p;
}

static inline const char *scratch_file(const char *name, const void *data,
                                       size_t n)
{
    const char *path = scratch_path(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* Writes the file "t": a header length, a header and data, as in safetensors.
 */
static inline const char *scratch_tensors(uint64_t length, const char *header,
                                          size_t n, const void *data,
                                          size_t data_n)
{
    static unsigned char bytes[1 << 20];
    assert_true(8 + n + data_n <= sizeof bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(length >> 8 * i);
    memcpy(bytes + 8, header, n);
    if (data_n)
        memcpy(bytes + 8 + n, data, data_n);
    return scratch_file("t", bytes, 8 + n + data_n);
}

/* Checks a message, without the scratch folder's name in front. */
static inline void assert_message(const char *text, const char *expected)
{
    size_t n = strlen(scratch);
    if (strncmp(text, scratch, n) == 0 && text[n] == '/')
        text += n + 1;
    assert_string_equal(text, expected);
}

/* Runs `job` in a child with stderr in the file "stderr": its wait status. */
static inline int in_child(void (*job)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(scratch_path("stderr"), O_WRONLY | O_CREAT, 0600);
        dup2(fd, STDERR_FILENO);
        job();
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static inline void assert_exit(int status, int code)
{
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

/* Divides work among the processors: run(i, n) does part i of n, in its own
 * process and scratch folder. */
static inline void by_processors(void (*run)(long from, long of))
{
    enum { Most = 8 };
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const long n = cpus < 1 ? 1 : cpus < Most ? cpus : Most;
    pid_t child[Most];

    fflush(NULL);
    for (long i = 1; i < n; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] > 0)
            continue;
        assert_int_equal(scratch_make(NULL), 0);
        run(i, n);
        scratch_remove(NULL);
        exit(0);
    }
    run(0, n);
    for (long i = 1; i < n; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_exit(status, 0);
    }
}

#endif
