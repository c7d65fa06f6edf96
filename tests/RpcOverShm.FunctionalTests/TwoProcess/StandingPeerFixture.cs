using NUnit.Framework.Interfaces;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>
/// The base of fixtures whose tests use the same peers one after the other, because the start of a process costs more
/// than most tests. A test that kills its peer, or needs a fresh process, starts one of its own.
/// </summary>
internal abstract class StandingPeerFixture : PeerFixture
{
    private readonly List<(string Kind, PeerProcess Peer)> _free = [];
    private readonly List<(string Kind, PeerProcess Peer)> _taken = []; // by this test

    /// <summary>Ends what the test has begun in the peers. After a failure they may be in any state, and end.</summary>
    [TearDown]
    public async Task ResetPeersAsync()
    {
        (string Kind, PeerProcess Peer)[] taken = [.. _taken];
        _taken.Clear();
        if (TestContext.CurrentContext.Result.Outcome.Status == TestStatus.Failed)
        {
            return;
        }

        // Clients before their servers.
        foreach ((string kind, PeerProcess peer) in taken.Reverse())
        {
            if (peer.Errors.Length == 0)
            {
                await peer.ResetAsync();
                Release(peer);
                _free.Insert(0, (kind, peer));
            }
        }
    }

    [OneTimeTearDown]
    public async Task EndStandingPeersAsync()
    {
        foreach ((_, PeerProcess peer) in _free)
        {
            await peer.DisposeAsync();
        }
    }

    /// <summary>
    /// Returns a peer that this test does not have yet: one of this kind that an earlier test had, or a new one.
    /// </summary>
    protected async Task<PeerProcess> TakePeerAsync(string kind, Func<Task<PeerProcess>> start)
    {
        int at = _free.FindIndex(one => one.Kind == kind && !one.Peer.HasExited);
        PeerProcess peer;
        if (at >= 0)
        {
            peer = _free[at].Peer;
            _free.RemoveAt(at);
            Adopt(peer);
        }
        else
        {
            peer = await start();
        }

        _taken.Add((kind, peer));
        return peer;
    }

    protected Task<PeerProcess> TakePeerAsync() => TakePeerAsync("", () => StartPeerAsync());

    /// <summary>Makes a standing peer serve the script at the address.</summary>
    protected async Task TakeServingPeerAsync()
    {
        PeerProcess peer = await TakePeerAsync();
        await peer.DoAsync($"serve {Address} {Directory.Word}");
    }

    /// <summary>Gives a standing peer a channel to the address.</summary>
    protected async Task<PeerProcess> TakeCallingPeerAsync()
    {
        PeerProcess peer = await TakePeerAsync();
        await peer.DoAsync($"channel {Address} {Directory.Word}");
        return peer;
    }
}
