/* wire.h: reads the fields of a protocol buffer one after another. */
#ifndef ATTNC_TOKENIZER_WIRE_H
#define ATTNC_TOKENIZER_WIRE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct { /* the rest of a message */
    const unsigned char *at, *end;
    bool wrong; /* truncated or invalid, at `at` */
} Wire;

typedef enum {
    WireNumber = 0,
    WireLong = 1, /* 8 bytes */
    WireBytes = 2,
    WireShort = 5 /* 4 bytes */
} WireType;

typedef struct {
    int number, type; /* the field's number; a WireType */
    uint64_t value;   /* unless type is WireBytes */
    Wire bytes;       /* if it is */
} WireField;

/* Reads the next field. False: the message ended, or w->wrong is set. */
bool wire_next(Wire *w, WireField *f);

#endif
