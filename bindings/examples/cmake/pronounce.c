/* pronounce.c: pronounces the words of the command line, with no file but
 * itself. */
#include "g2p-en.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct attn_handle *h = g2p_en_open(NULL, NULL);
    char text[200];

    for (int i = 1; i < argc; i++) {
        if (g2p_en_translate(h, argv[i], -1, NULL, text, sizeof text) < 0) {
            fprintf(stderr, "%s\n", g2p_en_error(h));
            g2p_en_close(h);
            return 3;
        }
        puts(text);
    }
    g2p_en_close(h);
    return 0;
}
