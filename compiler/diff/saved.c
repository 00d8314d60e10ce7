/* saved.c: writes facts to a file, and reads them in another process. The file
 * is a list of rows in JSON; its end proves that it is complete. */
#include "base/columns.h"
#include "diff/diff.h"

#define NUMBER(member) COLUMN(Known, Fact, member, #member, .least = -MOST, \
                              .most = MOST)
#define INT(member, low, high) \
    COLUMN(Int, Fact, member, #member, .least = (low), .most = (high))
#define MOST 1e300
static const RowColumn columns[] = {
    INT(kind, 0, FactKinds - 1),
    INT(layer, -1, INT32_MAX),
    COLUMN(Bool, Fact, derived, "derived"),
    INT(unit, 0, UnitSeconds),
    NUMBER(number),
    NUMBER(low),
    NUMBER(high),
    COLUMN(Maybe, Fact, key, "key"),
    COLUMN(Maybe, Fact, text, "text"),
    COLUMN(Maybe, Fact, type, "type"),
};
enum { Columns = sizeof columns / sizeof *columns };

bool facts_write(const Facts *f, FILE *to)
{
    json_t *list = json_array();
    for (int i = 0; i < f->at.n; i++)
        json_array_append_new(list,
                              columns_object(columns, Columns, &f->at.at[i]));
    const bool done = json_dumpf(list, to, JSON_REAL_PRECISION(17)) == 0;
    json_decref(list);
    return fflush(to) == 0 && done;
}

bool facts_read(Facts *f, FILE *from)
{
    json_t *list = json_loadf(from, 0, NULL), *x;
    size_t i;
    bool ok = list != NULL;
    json_array_foreach(list, i, x)
    {
        Fact fact = { .kind = FactField };
        ok = ok && !columns_parse(f->arena, columns, Columns, &fact, x)
          && fact.key && fact.text && fact.type;
        vec_push(f->arena, &f->at, fact);
    }
    json_decref(list);
    return ok;
}
