/* fields_weights.h: rows of the field table (fields.c) for weights. */
/* clang-format off */
ROW("dtype", FieldDtypes, offsetof(Spec, dtype), 0, dtype_choices, 0, 0,
AllKinds, "f32", NULL,
"Matrices of weights are stored in this format, all or by their names, as the "
"page spec-weights describes. Other weights are f32."),
ENUM("arithmetic", arithmetic, arithmetics, AllKinds, "f32", NULL,
     "Products compute in this, with weights that it reads: see the page "
     "spec-weights."),
ENUM("cache", cache_store, stores, Target_, "f32", NULL,
     "Cached keys and values are stored in this format. Every row, a new one "
     "too, attends to the stored numbers. int8 has a scale for each row and "
     "key head, and needs attention.score: dot."),
PATH("weights", weights, AllKinds,
     "This .safetensors file, relative to the spec, contains the weights. "
     "Without it they are seeded random numbers."),
ROW("names", FieldNames, 0, 0, NULL, 0, 0, AllKinds, "", NULL,
    "The weights have these names in the file: see the page spec-weights."),
ROW("unused", FieldPatterns, offsetof(Spec, unused), 0, NULL, 0, 0,
    AllKinds, "", NULL,
    "These tensors of the file are not used, and no warning names them. A * "
    "stands for any text, as in `pooler.*`."),
