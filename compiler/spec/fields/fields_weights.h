/* fields_weights.h: rows of the field table (fields.c) for weights. */
/* clang-format off */
ROW("dtype", FieldDtypes, offsetof(Spec, dtype), 0, dtype_word, 0, 0, AllKinds,
"f32", NULL,
"Matrices of weights are stored so, all of them, or by names: see "
"below. All other weights are f32."),
ENUM("arithmetic", arithmetic, arithmetics, AllKinds, "f32", NULL,
     "Products with weights in integers compute in this: see below."),
PATH("weights", weights, AllKinds,
     "This .safetensors file, relative to the spec, has the weights; "
     "without one they are seeded random numbers."),
ROW("names", FieldNames, 0, 0, NULL, 0, 0, AllKinds, "", NULL,
    "The weights have these names in the file; see below."),
ROW("unused", FieldPatterns, offsetof(Spec, unused), 0, NULL, 0, 0,
    AllKinds, "", NULL,
    "These tensors of the file are known and not used: no warning names "
    "them. A * stands for any text, as in `pooler.*`."),
