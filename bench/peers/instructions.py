"""What of the CPU's instructions this process may use: for dot products of
integers and of bf16, and where a workload is for a min_of CPU.

Linux gives a process the tiles of AMX when it asks for them, so a filter of
system calls that refuses this is what no library gets around; oneDNN has a
variable for it too. AVX-512 needs no asking. Libraries look whether the system
keeps its registers, by the instruction xgetbv, and may be told that it keeps
those of AVX alone."""
import ctypes
import errno
import os
import platform
import struct

AMX = "AMX"
INT, BF16 = "int", "bf16"        # what products are of
NAMES = [                        # of /proc/cpuinfo; the best first
    ("amx_int8", AMX, [INT]), ("amx_bf16", AMX, [BF16]),
    ("avx512_vnni", "AVX-512 VNNI", [INT]),
    ("avx512_bf16", "AVX-512 BF16", [BF16]), ("avx_vnni", "AVX-VNNI", [INT]),
    ("avx512bw", "AVX-512", [INT, BF16]), ("avx2", "AVX2", [INT, BF16]),
    ("i8mm", "NEON i8mm", [INT]), ("asimddp", "NEON dotprod", [INT])]
ARCH_PRCTL, ARCH_GET_PERM, ARCH_REQUEST_PERM = 158, 0x1022, 0x1023
TILES = 18                       # their bit of the state
ONEDNN = {"x86-64-v3": "AVX2"}   # sets that workloads name, as oneDNN does
ASKS = bytes.fromhex("31c9 0f01d0")     # xor %ecx, %ecx; xgetbv
IS_TOLD = bytes.fromhex("31c9 8d4107")  # xor %ecx, %ecx; lea 7(%rcx), %eax
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2


def of_cpu(kinds=(INT, BF16)):
    """Names of NAMES for products of these that this CPU has, the best first.
    """
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = {flag for line in file if line.startswith(("flags", "Features"))
                 for flag in line.split()}
    return list(dict.fromkeys(name for flag, name, of in NAMES
                              if flag in flags and set(of) & set(kinds)))


def amx_permitted():
    bits = ctypes.c_uint64()
    return (platform.machine() == "x86_64" and
            ctypes.CDLL(None).syscall(ARCH_PRCTL, ARCH_GET_PERM,
                                      ctypes.byref(bits)) == 0 and
            bits.value >> TILES & 1 == 1)


def usable(kind=INT):
    """The best that this process may use by now, or None."""
    names = [n for n in of_cpu([kind]) if n != AMX or amx_permitted()]
    return names[0] if names else None


def filter_program():
    """In the words of the kernel's BPF: is it arch_prctl, and is that its first
    argument? Then EINVAL, as before Linux 5.16; else it goes on."""
    load, equal, give = 0x20, 0x15, 0x06
    return b"".join(struct.pack("HBBI", *word) for word in [
        (load, 0, 0, 0), (equal, 0, 3, ARCH_PRCTL),
        (load, 0, 0, 16), (equal, 0, 1, ARCH_REQUEST_PERM),
        (give, 0, 0, 0x00050000 | errno.EINVAL), (give, 0, 0, 0x7fff0000)])


def deny_amx():
    """To this process and its threads, before any library is loaded."""
    if AMX not in of_cpu():
        return
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"

    class Program(ctypes.Structure):
        _fields_ = [("words", ctypes.c_ushort), ("at", ctypes.c_char_p)]
    words, libc = filter_program(), ctypes.CDLL(None)
    program = Program(len(words) // 8, words)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)):
        raise SystemExit("AMX cannot be denied: no filter of system calls")


def deny_avx512(part):
    """To the libraries that are loaded by now and have that part in their
    paths: they are told of x87, SSE and AVX. How many places asked."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        maps = [line.split() for line in file]
    places = 0
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        for span, rights, _, _, _, *path in maps:
            if "x" not in rights or part not in " ".join(path):
                continue
            begin, end = (int(x, 16) for x in span.split("-"))
            memory.seek(begin)
            code = memory.read(end - begin)
            at = code.find(ASKS)
            while at >= 0:
                memory.seek(begin + at)
                memory.write(IS_TOLD)
                places += 1
                at = code.find(ASKS, at + 1)
    return places
