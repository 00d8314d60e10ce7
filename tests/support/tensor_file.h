/* tensor_file.h: reads a tensor of a .safetensors file. Included after
 * library_calls.h. */
#ifndef ATTNC_TENSOR_FILE_H
#define ATTNC_TENSOR_FILE_H

#include <jansson.h>

/* Reads a tensor of floats or ids. Returns the number of its elements. */
static inline size_t tensor(const char *path, const char *name, void *to,
                            size_t cap)
{
    size_t n, from = 0, end = 0;
    uint64_t header;
    char *at = file_of(path, &n);
    memcpy(&header, at, sizeof header);
    json_t *top = json_loadb(at + 8, (size_t)header, 0, NULL);
    json_t *bytes = json_object_get(json_object_get(top, name), "data_offsets");
    assert_int_equal(json_array_size(bytes), 2);
    from = (size_t)json_integer_value(json_array_get(bytes, 0));
    end = (size_t)json_integer_value(json_array_get(bytes, 1));
    assert_true(end - from <= cap);
    memcpy(to, at + 8 + header + from, end - from);
    json_decref(top);
    free(at);
    return (end - from) / 4;
}

#endif
