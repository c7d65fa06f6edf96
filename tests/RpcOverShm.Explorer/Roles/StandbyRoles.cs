using RpcOverShm.Explorer.Model;
using RpcOverShm.Rings;

namespace RpcOverShm.Explorer.Roles;

/// <summary>
/// A thread that sleeps on the tail, unarmed, while another one reads: ARCHITECTURE.md, "Who reads", rule 3. The second
/// one arms for the first, so the kernel's comparison does not cover the check after arming.
/// </summary>
internal static class StandbyRoles
{
    public static void Sleeper(RoleContext context)
    {
        context.Ready();
        context.Link.SleepForData(0, context.Link.LocalEvents);
    }

    /// <summary>A caller that polls for its one record and then does as ReaderCoordinator.ArmForStandby.</summary>
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
        if (!reader.Arm(out _))
        {
            context.Link.WakeOwnReaders();
        }
    }
}
