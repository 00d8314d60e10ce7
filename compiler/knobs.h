/* knobs.h: what emitted code may differ in from machine to machine, and never
 * in a bit of a result: included where KNOB is defined. 0: as the tool chooses.
 *
 *     KNOB(name, tasks, least, most, step, text)
 *
 * tasks: the kinds of work that have it; a value is 0, or least .. most by
 * steps. A new knob is a row here, and what the emitter makes of it.         */
KNOB(mr, OnProducts, 1, 16, 1, "rows of a register tile")
KNOB(nr, OnProducts, 16, 64, 16, "columns of a register tile")
KNOB(k, On(TaskMatmul), 64, 65536, 64,
     "elements of a long sum that are worked through before the next ones")
KNOB(ahead, OnProducts, 1, 5, 1,
     "panels of the next columns that are asked for meanwhile, and 1")
KNOB(panels, On(TaskMatmul), 1, 64, 1, "least panels of a thread's part")
KNOB(queries, On(TaskAttention), 1, 128, 1, "query rows that go together")
KNOB(keys, On(TaskAttention), 64, 512, 64,
     "keys whose scores are made together")
KNOB(few, On(TaskFew), 1, 9, 1, "rows up to which they are few, and 1")
KNOB(places, On(TaskFew), 1, 2, 1, "places that few rows read weights from")
KNOB(rows, On(TaskRows), 1, 512, 1, "rows of a block, through all steps")
KNOB(work, On(TaskSplit), 1000, 1000000000, 1,
     "FLOPs that are worth another thread")
