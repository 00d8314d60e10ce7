/* embed.c: a program that runs at build time. `embed FILE ...` prints a C file,
 * part of attnc, with the text of each file and a table of them. The table
 * names files below models/ by their path there, and other files by their file
 * name. emit/text/embedded.h declares the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_file(int index, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        exit(1);
    }
    printf("static const char text_%d[] = {", index);
    for (int c, n = 0; (c = getc(in)) != EOF; n++)
        printf("%s%d,", n % 20 ? "" : "\n", c < 128 ? c : c - 256);
    printf("\n0};\n\n");
    if (ferror(in) || fclose(in) != 0) {
        perror(path);
        exit(1);
    }
}

static const char *file_name(const char *path)
{
    static const char models[] = "models/";
    const char *slash = strrchr(path, '/');
    if (!strncmp(path, models, sizeof models - 1))
        return path + sizeof models - 1;
    return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
    printf("#include <stddef.h>\n\n");
    for (int i = 1; i < argc; i++)
        print_file(i, argv[i]);
    printf("const struct Embedded {\n"
           "    const char *name, *text;\n"
           "    size_t size;\n"
           "} embedded[] = {\n");
    for (int i = 1; i < argc; i++)
        printf("    { \"%s\", text_%d, sizeof text_%d - 1 },\n",
               file_name(argv[i]), i, i);
    printf("};\nconst int n_embedded = %d;\n", argc - 1);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
