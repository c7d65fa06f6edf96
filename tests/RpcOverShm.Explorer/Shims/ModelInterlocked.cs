using System.Runtime.CompilerServices;
using RpcOverShm.Explorer.Model;

namespace RpcOverShm.Explorer.Shims;

/// <summary>The atomic operation on the counter of local events, which threads of the process wait for.</summary>
internal static unsafe class ModelInterlocked
{
    public static uint Increment(ref uint counter) => (uint)RoleRun.Current.Perform(
        new Op(OpKind.AddFenced, RoleRun.Current.LocationOf(Unsafe.AsPointer(ref counter)), 1));

    /// <summary>Orders nothing: a role's private objects are its own here.</summary>
    public static void MemoryBarrier()
    {
        // The store buffer stays as it is, which allows more schedules than a fence.
    }
}

/// <summary>The loads of the counter of local events. Without such events in a scenario they are no step.</summary>
internal static unsafe class ModelVolatile
{
    public static uint Read(ref readonly uint counter)
    {
        RoleRun run = RoleRun.Current;
        void* address = Unsafe.AsPointer(ref Unsafe.AsRef(in counter));
        return run.HasEvents ? (uint)run.Perform(new Op(OpKind.Read, run.LocationOf(address))) : 0;
    }
}

/// <summary>The calls of the signal to the garbage collector. The model only compares the counter's address.</summary>
internal static class ModelCollector
{
    public static T[] AllocateArray<T>(int length, bool pinned)
    {
        _ = pinned;
        return new T[length];
    }

    /// <summary>Returns pinned memory, because the reader of a sealed ring reads its tail there.</summary>
    public static T[] AllocateUninitializedArray<T>(int length, bool pinned) =>
        System.GC.AllocateUninitializedArray<T>(length, pinned);

    public static void KeepAlive(object item) => System.GC.KeepAlive(item);
}
