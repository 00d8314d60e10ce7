/* tiling_parameters.h: the parameters of emitted code that depend on the
 * machine; none changes a bit of a result. Include this file with PARAMETER
 * defined.
 *
 *     PARAMETER(name, tasks, least, most, step, text)
 *
 * tasks: kinds of task that have the parameter. Its value is 0 (the default) or
 * one of least, least + step, ... most. To add a parameter, add a row here and
 * code in the emitter. */
PARAMETER(mr, OnProducts, 1, 16, 1, "rows of a register tile, at most")
PARAMETER(nr, OnProducts, ATTN_PANEL, 4 * ATTN_PANEL, ATTN_PANEL,
          "columns of a register tile")
PARAMETER(k, On(TaskMatmul), 64, 65536, 64,
          "elements of a sum that many columns work through before the next")
PARAMETER(prefetch, OnProducts, 1, 17, 1,
          "1, and the tiles that share the prefetch of two panels of the next "
          "columns, at most")
PARAMETER(panels, On(TaskMatmul), 1, 64, 1,
          "panels of 16 columns that a thread takes, or multiples of them")
PARAMETER(queries, On(TaskAttention), 1, 128, 1,
          "queries that go through the keys together")
PARAMETER(keys, On(TaskAttention), ATTN_PAGE, 8 * ATTN_PAGE, ATTN_PAGE,
          "keys whose scores are made before their softmax")
PARAMETER(small_m, On(TaskSmallM), 1, 9, 1,
          "1, and rows up to which a product reads its weights once")
PARAMETER(streams, On(TaskSmallM), 1, 2, 1,
          "streams in which a product of so few rows reads its weights")
PARAMETER(rows, On(TaskRows), 1, 512, 1,
          "rows of a block that goes through all steps")
PARAMETER(work, On(TaskSplit), 1, 1000000000, 1,
          "FLOPs that are worth another thread")
