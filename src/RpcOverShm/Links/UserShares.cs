using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// Counts what the clients of each user have of something scarce, so that none of them takes all of it. This process's
/// own user is not counted: it pays for itself. Root is counted, because a program of root that goes wrong must not
/// shut that user out. Guarded by its owner.
/// </summary>
/// <param name="most">The share of one user.</param>
internal sealed class UserShares(long most)
{
    private readonly Dictionary<Account, int> _byUser = [];

    /// <summary>The share of one user.</summary>
    public long Most => most;

    /// <summary>The share of a user without an option for it: half, and at least one.</summary>
    public static long HalfOf(long all) => (all + 1) / 2;

    /// <summary>Counts one more. Returns false, and counts nothing, if the client's user has its whole share.</summary>
    public bool TryTake(PeerIdentity client)
    {
        if (client.IsOwnUser)
        {
            return true;
        }

        ref int own = ref CollectionsMarshal.GetValueRefOrAddDefault(_byUser, client.User, out _);
        if (own >= most)
        {
            return false;
        }

        own++;
        return true;
    }

    /// <summary>Counts one less, which the same client has taken.</summary>
    public void GiveBack(PeerIdentity client)
    {
        // Looked for also if it is the own user's now: this process may have changed its user.
        ref int own = ref CollectionsMarshal.GetValueRefOrNullRef(_byUser, client.User);
        if (!Unsafe.IsNullRef(ref own) && --own == 0)
        {
            _byUser.Remove(client.User);
        }
    }
}
