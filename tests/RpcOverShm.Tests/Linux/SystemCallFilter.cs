using System.Runtime.InteropServices;

namespace RpcOverShm.Tests.Linux;

/// <summary>Failures of the kernel that no test can bring about otherwise, by a filter (seccomp).</summary>
internal static unsafe partial class SystemCallFilter
{
    private const int PrSetSeccomp = 22;
    private const int PrSetNoNewPrivileges = 38;
    private const int FilterMode = 2;

    // Of linux/filter.h and linux/seccomp.h.
    private const ushort LoadWord = 0x20;
    private const ushort JumpIfEqual = 0x15;
    private const ushort Return = 0x06;
    private const uint FailWith = 0x0005_0000;
    private const uint Allow = 0x7FFF_0000;

    /// <summary>
    /// Lets each send of this thread fail with this errno, as long as the thread lives. Returns whether the system
    /// lets a thread do that.
    /// </summary>
    public static bool TryFailSends(int errno)
    {
        uint sendTo = RuntimeInformation.ProcessArchitecture == Architecture.Arm64 ? 206u : 44u;
        Instruction* filter = stackalloc Instruction[]
        {
            new Instruction { Code = LoadWord, Value = 0 }, // the number of the system call
            new Instruction { Code = JumpIfEqual, Value = sendTo, SkipIfFalse = 1 },
            new Instruction { Code = Return, Value = FailWith | (uint)errno },
            new Instruction { Code = Return, Value = Allow },
        };
        var program = new FilterProgram { Length = 4, First = filter };
        return Control(PrSetNoNewPrivileges, 1, 0, 0, 0) == 0
            && Control(PrSetSeccomp, FilterMode, (nint)(&program), 0, 0) == 0;
    }

    [LibraryImport("libc", EntryPoint = "prctl")]
    private static partial int Control(int option, nint second, nint third, nint fourth, nint fifth);

    /// <summary>The kernel's struct sock_filter.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct Instruction
    {
        public ushort Code;
        public byte SkipIfTrue;
        public byte SkipIfFalse;
        public uint Value;
    }

    /// <summary>The kernel's struct sock_fprog.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct FilterProgram
    {
        public ushort Length;
        public Instruction* First;
    }
}
