/* program_rows.h: words of option_rows.h as the program has them: the kinds,
 * and the members of struct program. Its table is emitted
 * (compiler/emit/file/program_options.c); attnc has it for --shard
 * (compiler/cli/run/shard.c). */
#ifndef ATTN_PROGRAM_ROWS_1
#define ATTN_PROGRAM_ROWS_1

#define KIND_Flag OPTION_FLAG
#define KIND_Int OPTION_WHOLE
#define KIND_Float OPTION_REAL
#define KIND_Text OPTION_TEXT
#define KIND_Out OPTION_TEXT
#define KIND_List OPTION_LIST
#define AT_Settings(member) set.member
#define AT_Lines(member) member
#define AT_Suppress(member) member
#define AT_Prompt(member) member
#define AT_Chat(member) member
#define AT_Seed(member) member
#define AT_Threads(member) member
#define AT_Encode(member) member
#define AT_Shard(member) member
#define AT_Program(member) member

#endif
