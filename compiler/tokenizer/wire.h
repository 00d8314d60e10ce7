/* wire.h: reads the fields of a protocol buffer in sequence. */
#ifndef ATTNC_TOKENIZER_WIRE_H
#define ATTNC_TOKENIZER_WIRE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct { /* the unread part of a message */
    const unsigned char *at, *end;
    bool wrong; /* the message is truncated or invalid at `at` */
} Wire;

typedef enum {
    WireNumber = 0,
    WireLong = 1, /* a number of 8 bytes */
    WireBytes = 2,
    WireShort = 5 /* a number of 4 bytes */
} WireType;

typedef struct {
    int number, type; /* number of the field; its WireType */
    uint64_t value;   /* value of a field that is a number */
    Wire bytes;       /* value of a field of type WireBytes */
} WireField;

/* Reads the next field. Returns false at the end of the message, or on an
 * error, which sets w->wrong. */
bool wire_next(Wire *w, WireField *f);

#endif
