/* wire.h: fields of a protocol buffer, one after another. */
#ifndef ATTNC_TOKENIZER_WIRE_H
#define ATTNC_TOKENIZER_WIRE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct { /* what is left of a message */
    const unsigned char *at, *end;
    bool wrong; /* it is cut, or none, at `at` */
} Wire;

typedef enum {
    WireNumber = 0,
    WireLong = 1, /* 8 bytes */
    WireBytes = 2,
    WireShort = 5 /* 4 bytes */
} WireType;

typedef struct {
    int number, type; /* of the field; WireNumber .. */
    uint64_t value;   /* but of WireBytes */
    Wire bytes;
} WireField;

/* False: there is no more, or w->wrong. */
bool wire_next(Wire *w, WireField *f);

#endif
