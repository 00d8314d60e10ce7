/* jit_elf.c: builds an ELF object in memory for GDB: a section without contents
 * at the address of the code, symbols, and DWARF 2 with one compilation unit,
 * its functions, and their lines. */
#include <elf.h>
#include <string.h>

#include "backend/jit_names.h"

/* sections in the order of the file */
enum { None, Code, Symbols, Strings, Info, Abbrev, Lines, Names, Sections };

/* ---- bytes ---- */
static void put(Buffer *b, uint64_t value, size_t bytes)
{
    buffer_add(b, (const char *)&value, bytes); /* in native byte order */
}

static void put_text(Buffer *b, const char *text)
{
    buffer_add(b, text, strlen(text) + 1);
}

/* Writes a number as unsigned LEB128: seven bits per byte, lowest first. */
static void put_unsigned(Buffer *b, uint64_t n)
{
    for (; n >= 128; n >>= 7)
        put(b, (n & 127) | 128, 1);
    put(b, n, 1);
}

static void put_signed(Buffer *b, int64_t n)
{
    while (n < -64 || n > 63) {
        put(b, ((uint64_t)n & 127) | 128, 1);
        n = (n - (n & 127)) / 128;
    }
    put(b, (uint64_t)n & 127, 1);
}

/* Reserves a length field that end_length() fills in. */
static int begin_length(Buffer *b)
{
    put(b, 0, 4);
    return b->n;
}

static void end_length(Buffer *b, int from)
{
    const uint32_t n = (uint32_t)(b->n - from);
    memcpy(b->at + from - sizeof n, &n, sizeof n);
}

static uint64_t address(const JitNames *j, uint64_t at)
{
    return (uint64_t)(uintptr_t)j->code + at;
}

/* ---- DWARF ---- */
static void put_abbrev(Buffer *b)
{
    static const unsigned char table[] = {
        1,    0x11, 1,          /* compile_unit, with children */
        0x25, 8,                /* producer */
        0x13, 5,                /* language */
        3,    8,                /* name */
        0x11, 1,    0x12, 1,    /* low_pc, high_pc */
        0x10, 6,    0,    0,    /* stmt_list */
        2,    0x2e, 0,          /* subprogram, without children */
        3,    8,    0x11, 1,    /* name, low_pc */
        0x12, 1,    0,    0, 0, /* high_pc */
    };
    buffer_add(b, (const char *)table, sizeof table);
}

static void put_info(Buffer *b, const JitNames *j)
{
    enum { C99 = 0x0c, Version = 2 };
    const int from = begin_length(b);
    put(b, Version, 2);
    put(b, 0, 4); /* offset in .debug_abbrev */
    put(b, sizeof(void *), 1);
    put(b, 1, 1);
    put_text(b, "attnc, libtcc");
    put(b, C99, 2);
    put_text(b, j->text);
    put(b, address(j, 0), 8);
    put(b, address(j, j->bytes), 8);
    put(b, 0, 4); /* offset in .debug_line */
    for (int i = 0; i < j->function.n; i++) {
        const JitFunction *f = &j->function.at[i];
        put(b, 2, 1);
        put_text(b, f->name);
        put(b, address(j, f->from), 8);
        put(b, address(j, f->from + f->size), 8);
    }
    put(b, 0, 1);
    end_length(b, from);
}

/* Writes the line table of one function. */
static void put_sequence(Buffer *b, const JitNames *j, int function, int *next)
{
    const JitFunction *f = &j->function.at[function];
    uint64_t at = f->from;
    int line = 1;
    put(b, 0x020900, 3); /* set_address */
    put(b, address(j, at), 8);
    for (; *next < j->line.n && j->line.at[*next].function == function;
         ++*next) {
        const JitLine *l = &j->line.at[*next];
        put(b, 2, 1); /* advance_pc */
        put_unsigned(b, l->at - at);
        put(b, 3, 1); /* advance_line */
        put_signed(b, l->line - line);
        put(b, 1, 1); /* copy */
        at = l->at;
        line = l->line;
    }
    put(b, 2, 1);
    put_unsigned(b, f->from + f->size - at);
    put(b, 0x010100, 3); /* end_sequence */
}

static void put_lines(Buffer *b, const JitNames *j)
{
    static const unsigned char operands[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1 };
    const int from = begin_length(b);
    put(b, 2, 2); /* version */
    const int head = begin_length(b);
    put(b, 1, 1);            /* minimum bytes per instruction */
    put(b, 1, 1);            /* every row begins a statement */
    put(b, (uint64_t)-5, 1); /* parameters of special opcodes: not used */
    put(b, 14, 1);
    put(b, sizeof operands + 1, 1);
    buffer_add(b, (const char *)operands, sizeof operands);
    put(b, 0, 1); /* no directories */
    put_text(b, j->text);
    put(b, 0, 3); /* no directory, time or size */
    put(b, 0, 1);
    end_length(b, head);
    int next = 0;
    for (int i = 0; i < j->function.n; i++)
        put_sequence(b, j, i, &next);
    end_length(b, from);
}

/* ---- ELF ---- */
static void put_symbols(Buffer *symbols, Buffer *strings, const JitNames *j)
{
    put_text(strings, "");
    buffer_add(symbols, (const char *)&(Elf64_Sym){ 0 }, sizeof(Elf64_Sym));
    for (int i = 0; i < j->function.n; i++) {
        const JitFunction *f = &j->function.at[i];
        const Elf64_Sym s = { .st_name = (Elf64_Word)strings->n,
                              .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                              .st_shndx = Code,
                              .st_value = f->from,
                              .st_size = f->size };
        put_text(strings, f->name);
        buffer_add(symbols, (const char *)&s, sizeof s);
    }
}

static Elf64_Ehdr head_of(uint64_t sections_at)
{
    return (Elf64_Ehdr){
        .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                     ELFDATA2LSB, EV_CURRENT },
        .e_type = ET_REL,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_shoff = sections_at,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = Sections,
        .e_shstrndx = Names,
    };
}

Buffer jit_elf(Arena *a, const JitNames *j)
{
    static const char *const name[Sections] = {
        "",
        ".text",
        ".symtab",
        ".strtab",
        ".debug_info",
        ".debug_abbrev",
        ".debug_line",
        ".shstrtab",
    };
    Elf64_Shdr section[Sections] = {
        [Code] = { .sh_type = SHT_NOBITS,
                   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                   .sh_addr = address(j, 0),
                   .sh_addralign = 1 },
        [Symbols] = { .sh_type = SHT_SYMTAB,
                      .sh_link = Strings,
                      .sh_info = 1,
                      .sh_entsize = sizeof(Elf64_Sym),
                      .sh_addralign = 8 },
        [Strings] = { .sh_type = SHT_STRTAB, .sh_addralign = 1 },
        [Info] = { .sh_type = SHT_PROGBITS, .sh_addralign = 1 },
        [Abbrev] = { .sh_type = SHT_PROGBITS, .sh_addralign = 1 },
        [Lines] = { .sh_type = SHT_PROGBITS, .sh_addralign = 1 },
        [Names] = { .sh_type = SHT_STRTAB, .sh_addralign = 1 },
    };
    Buffer content[Sections], file = { .arena = a };
    for (int i = 0; i < Sections; i++)
        content[i] = (Buffer){ .arena = a };
    put_symbols(&content[Symbols], &content[Strings], j);
    put_info(&content[Info], j);
    put_abbrev(&content[Abbrev]);
    put_lines(&content[Lines], j);
    for (int i = 0; i < Sections; i++) {
        section[i].sh_name = (Elf64_Word)content[Names].n;
        put_text(&content[Names], name[i]);
    }
    const Elf64_Ehdr head = head_of(sizeof head);
    uint64_t at = sizeof head + sizeof section;
    for (int i = Code; i < Sections; i++) {
        section[i].sh_offset = at;
        section[i].sh_size = i == Code ? j->bytes : (uint64_t)content[i].n;
        at += (uint64_t)content[i].n;
    }
    buffer_add(&file, (const char *)&head, sizeof head);
    buffer_add(&file, (const char *)section, sizeof section);
    for (int i = Code; i < Sections; i++)
        if (content[i].n)
            buffer_add(&file, content[i].at, (size_t)content[i].n);
    return file;
}
