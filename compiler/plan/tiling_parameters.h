/* tiling_parameters.h: what emitted code may differ in from machine to machine,
 * and never in a bit of a result: included where PARAMETER is defined. 0: as
 * the tool chooses.
 *
 *     PARAMETER(name, tasks, least, most, step, text)
 *
 * tasks: the kinds of work that have it; a value is 0, or least .. most by
 * steps. A new parameter is a row here, and what the emitter makes of it. */
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
