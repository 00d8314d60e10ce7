/* handle_file.c: opens the weights of a model. They are embedded in the C file,
 * or in a file that is mapped or, without mmap(), read. */
#include "runtime/core.h"
#include "handle_system.h"

struct handle_file {
    const void *at; /* the weights; NULL: none */
    int64_t bytes;
    void *block; /* memory to unmap or free; NULL: embedded */
};

#if defined __unix__ || defined __APPLE__
/* Maps the file at the path. Returns NULL, or an error message. */
static const char *handle_map(struct handle_file *f, const char *path)
{
    const char *wrong = NULL;
    struct stat st;
    void *at = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return strerror(errno);
    if (fstat(fd, &st) != 0)
        wrong = strerror(errno);
    else if (!S_ISREG(st.st_mode))
        wrong = "not a regular file";
    else if (st.st_size < 1)
        wrong = "the file is empty";
    if (!wrong)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        wrong = strerror(errno);
    close(fd);
    if (wrong)
        return wrong;
    f->block = at;
    f->at = at;
    f->bytes = (int64_t)st.st_size;
    return NULL;
}

static void handle_unmap(struct handle_file *f)
{
    if (f->block)
        munmap(f->block, (size_t)f->bytes);
}
#else
static const char *handle_read(struct handle_file *f, FILE *from, long bytes)
{
    struct attn_memory at;
    void *to;

    f->block = malloc((size_t)bytes + ATTN_ALIGN);
    if (!f->block)
        return "out of memory";
    attn_memory_open(&at, f->block);
    to = attn_take(&at, bytes, 1);
    f->at = to;
    f->bytes = bytes;
    if (fread(to, 1, (size_t)bytes, from) < (size_t)bytes)
        return "it could not be read";
    return NULL;
}

static const char *handle_map(struct handle_file *f, const char *path)
{
    FILE *from = fopen(path, "rb");
    const char *wrong = "it could not be read";
    long bytes = -1;

    if (!from)
        return strerror(errno);
    if (fseek(from, 0, SEEK_END) == 0)
        bytes = ftell(from);
    if (bytes == 0)
        wrong = "the file is empty";
    if (bytes > 0 && fseek(from, 0, SEEK_SET) == 0)
        wrong = handle_read(f, from, bytes);
    fclose(from);
    return wrong;
}

static void handle_unmap(struct handle_file *f)
{
    free(f->block);
}
#endif
