"""What of the CPU's instructions for dot products of integers this process may
use. Linux gives a process the tiles of AMX when it asks for them, so a filter
of system calls that refuses this is what no library gets around; oneDNN has a
variable for it too."""
import ctypes
import errno
import os
import platform
import struct

AMX = "AMX"
NAMES = [                        # of /proc/cpuinfo; the best first
    ("amx_int8", AMX), ("avx512_vnni", "AVX-512 VNNI"),
    ("avx_vnni", "AVX-VNNI"), ("avx512bw", "AVX-512"), ("avx2", "AVX2"),
    ("i8mm", "NEON i8mm"), ("asimddp", "NEON dotprod")]
ARCH_PRCTL, ARCH_GET_PERM, ARCH_REQUEST_PERM = 158, 0x1022, 0x1023
TILES = 18                       # their bit of the state
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2


def of_cpu():
    """Names of NAMES that this CPU has, the best first."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = {flag for line in file if line.startswith(("flags", "Features"))
                 for flag in line.split()}
    return [name for flag, name in NAMES if flag in flags]


def amx_permitted():
    bits = ctypes.c_uint64()
    return (platform.machine() == "x86_64" and
            ctypes.CDLL(None).syscall(ARCH_PRCTL, ARCH_GET_PERM,
                                      ctypes.byref(bits)) == 0 and
            bits.value >> TILES & 1 == 1)


def usable():
    """The best that this process may use by now, or None."""
    names = [n for n in of_cpu() if n != AMX or amx_permitted()]
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
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_VNNI"

    class Program(ctypes.Structure):
        _fields_ = [("words", ctypes.c_ushort), ("at", ctypes.c_char_p)]
    words, libc = filter_program(), ctypes.CDLL(None)
    program = Program(len(words) // 8, words)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)):
        raise SystemExit("AMX cannot be denied: no filter of system calls")
