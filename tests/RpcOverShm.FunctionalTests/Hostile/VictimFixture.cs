namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>The base of fixtures with a server and hostile clients.</summary>
internal abstract class VictimFixture() : RigFixture(RigKind.Shm)
{
    /// <summary>Logged when a connection was closed because the peer broke the protocol.</summary>
    protected const int PeerViolation = 103;

    protected const int MethodThrew = 301;

    /// <summary>
    /// Starts a server with the smallest rings and an innocent client. A call of "hold" never ends; "flood" floods.
    /// </summary>
    protected async Task<Victim> StartVictimAsync(
        Action<Script>? change = null, RigOptions? options = null, params ServerServiceDefinition[] services)
    {
        var script = new Script
        {
            Unary = async (request, context) =>
            {
                if (request.Text() == "hold")
                {
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }

                return request;
            },
            ServerStream = async (request, responses, _) =>
            {
                bool isFlood = request.Text() == "flood";
                for (int i = 0; i < (isFlood ? 1000 : 1); i++)
                {
                    await responses.WriteAsync(isFlood ? Payloads.OfSize(5000) : request);
                }
            },
        };
        change?.Invoke(script);
        ShmRig rig = await StartShmAsync(
            options ?? RigOptions.AnySize with { RingCapacity = 64 << 10 },
            [script.Build(), DeafService.Build(), .. services]);
        rig.Log.Expect(PeerViolation, MethodThrew);
        return await Victim.WithInnocentClientAsync(rig);
    }
}
