/* foreign.c: reports the kind of another program's file, and how the user gets
 * the kind that attnc expects (file_kinds.c). */
#define _POSIX_C_SOURCE 200809L
#include "foreign.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MostShown = 120 }; /* maximum bytes of a name in a remedy */

/* ---- text ---- */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Returns the name if it needs no quotes on a command line, otherwise
 * `word`. */
static const char *shown(const char *name, const char *word)
{
    static const char signs[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
    const size_t n = strlen(name);

    return n <= MostShown && strspn(name, signs) == n ? name : word;
}

static void folder_of(const char *path, char out[256])
{
    const int n = (int)(base_name(path) - path);

    snprintf(out, 256, "%.*s", n > 1 ? n - 1 : 1, n > 0 ? path : ".");
}

static void append(char out[512], const char *text, size_t n)
{
    const size_t have = strlen(out);

    snprintf(out + have, 512 - have, "%.*s", (int)n, text);
}

/* Inserts the names of the file and of its folder into a remedy. */
static void expand(const char *remedy, const char *path, char out[512])
{
    char folder[256];

    folder_of(path, folder);
    *out = '\0';
    while (*remedy) {
        const size_t n = strcspn(remedy, "$");
        append(out, remedy, n);
        remedy += n;
        if (!strncmp(remedy, "$file", 5)) {
            append(out, shown(path, "FILE"), MostShown);
            remedy += 5;
        } else if (!strncmp(remedy, "$folder", 7)) {
            append(out, shown(folder, "FOLDER"), MostShown);
            remedy += 7;
        }
    }
}

/* ---- files ---- */
static size_t read_first_bytes(const char *path, char head[64])
{
    FILE *file = fopen(path, "rb");
    const size_t n = file ? fread(head, 1, 64, file) : 0;

    if (file)
        fclose(file);
    return n;
}

/* True if the path could be a model on a hub: `model` or `owner/model`. */
static bool is_hub_name(const char *path)
{
    static const char signs[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = strspn(path, signs);

    if (*path == '.' || n == 0 || kind_of(path, "", 0))
        return false;
    if (path[n] == '/')
        n += 1 + strspn(path + n + 1, signs);
    return !path[n];
}

static bool missing_file(const char *path, Asked asked, Fault *why)
{
    char yaml[4096];

    if (strstr(path, "://"))
        return !fault(
            why, ExitIO,
            "%s: attnc downloads nothing: download the model first: `hf "
            "download OWNER/MODEL --local-dir MODEL`, then `attnc import "
            "MODEL`",
            path);
    snprintf(yaml, sizeof yaml, "%s.yaml", path);
    if (asked == AskedSpec && access(yaml, F_OK) == 0)
        return !fault(why, ExitIO,
                      "%s: there is no such file: did you mean %s?", path,
                      yaml);
    if (asked == AskedWeights || !is_hub_name(path))
        return false;
    return !fault(why, ExitIO,
                  "%s: there is no such file or folder. If it is a model of a "
                  "hub, download it first: `hf download %s --local-dir %s`, "
                  "then `attnc import %s`",
                  path, path, base_name(path), base_name(path));
}

bool foreign_file(const char *path, Asked asked, Fault *why)
{
    struct stat st;
    char text[512], head[64];

    if (stat(path, &st) != 0)
        return missing_file(path, asked, why);
    snprintf(text, sizeof text, "%s/config.json", path);
    if (S_ISDIR(st.st_mode) && asked == AskedSpec && lstat(text, &st) != 0)
        return !fault(why, ExitIO,
                      "%s: is a folder without config.json: name the .yaml "
                      "file of a spec, or the folder of a checkpoint",
                      path);
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return false;
    const size_t n = read_first_bytes(path, head);
    if (!file_is_itself(path, (const unsigned char *)head, n, why))
        return true;
    const FileKind *k = kind_of(path, head, n);
    if (!k || !k->remedy[asked])
        return false;
    expand(k->remedy[asked], path, text);
    return !fault(why, ExitInput, "%s: %s: %s", path, k->is, text);
}
