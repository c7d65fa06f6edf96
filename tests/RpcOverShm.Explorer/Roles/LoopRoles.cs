using RpcOverShm.Explorer.Model;
using RpcOverShm.Rings;

namespace RpcOverShm.Explorer.Roles;

/// <summary>
/// An event loop that sleeps, unarmed, while a caller reads: ARCHITECTURE.md, "Who reads", rule 3. The caller arms for
/// the loop, so the kernel's comparison does not cover the check after arming.
/// </summary>
internal static class LoopRoles
{
    public static void Sleeper(RoleContext context)
    {
        context.Ready();
        context.Link.SleepForData(0, context.Link.LocalEvents);
    }

    /// <summary>A caller that polls for its one record and then does as ConnectionReader.ArmForLoop.</summary>
    public static void Caller(RoleContext context)
    {
        RingReader ring = context.Track(context.Link.Reader);
        var reader = new RecordReader(context);
        context.Ready();
        while (!ring.HasData)
        {
            context.Checkpoint(0);
        }

        reader.ReadUpTo(1);
        if (!reader.Arm(WakeMethods.Doorbell))
        {
            context.Link.WakeLoop();
        }
    }
}
