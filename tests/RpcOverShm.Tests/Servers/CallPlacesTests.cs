using RpcOverShm.Protocol;
using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

/// <summary>The names of running calls, whose places nested calls take.</summary>
[TestFixture]
public class CallPlacesTests
{
    private const int Rounds = 5000;

    private readonly ParentCall _name = new(Guid.NewGuid(), new CallId(1, generation: 1, isFromAcceptor: false));

    [Test]
    public void NestedCall_OfACallThatEnds_GoesOnInItsPlace_OrDoesNotBegin([Values(null, 1)] int? limit)
    {
        using var rig = new ServedRig();
        var places = new CallPlaces(ServedRig.Limits with { Calls = limit });
        CallTurn parent = Turn(rig);
        Assert.That(places.TryTake(parent));
        places.AddName(parent, _name);
        CallTurn nested = Nested(rig);
        CallTurn second = Nested(rig);

        Assert.That(places.TryNest(nested));
        Assert.That(places.TryNest(second), Is.False, "one at a time");
        Assert.That(places.Find(_name), Is.SameAs(parent));
        places.OnEnded(parent);

        Assert.That((nested.IsNested, nested.Lender), Is.EqualTo((false, (CallTurn?)null)));
        Assert.That(places.Find(_name), Is.Null);
        Assert.That(places.TryNest(second), Is.False);
    }

    [Test]
    public async Task NestedCall_ThatBeginsWhileItsParentEnds_IsCountedOnce([Values(null, 1)] int? limit)
    {
        using var rig = new ServedRig();
        var places = new CallPlaces(ServedRig.Limits with { Calls = limit });
        CallTurn parent = Turn(rig);
        CallTurn nested = Nested(rig);
        int wrong = 0;
        using var step = new Barrier(2);

        await Task.WhenAll(
            Timeouts.OnThread(() =>
            {
                for (int i = 0; i < Rounds; i++)
                {
                    parent = Turn(rig);
                    nested = Nested(rig);
                    wrong += places.TryTake(parent) ? 0 : 1;
                    places.AddName(parent, _name);
                    step.SignalAndWait();
                    places.OnEnded(parent);
                    step.SignalAndWait();

                    // Either it did not begin, or it has the place of its own that the parent had.
                    wrong += nested.IsNested || nested.Lender is not null || parent.Borrower is not null ? 1 : 0;
                    places.OnEnded(nested);
                }
            }),
            Timeouts.OnThread(() =>
            {
                for (int i = 0; i < Rounds; i++)
                {
                    step.SignalAndWait();
                    places.TryNest(nested);
                    step.SignalAndWait();
                }
            })).Bounded();

        Assert.That(wrong, Is.Zero);
    }

    [Test]
    public async Task Names_OfManyThreads_AreKnownUntilTheirCallsEnd()
    {
        const int Threads = 8;
        using var rig = new ServedRig();
        var places = new CallPlaces(ServedRig.Limits);

        Task<int>[] threads = [.. Enumerable.Range(0, Threads).Select(number => Timeouts.OnThread(() =>
        {
            int wrong = 0;
            var connection = Guid.NewGuid();
            for (int i = 0; i < Rounds; i++)
            {
                var name = new ParentCall(connection, new CallId(number, generation: 1, isFromAcceptor: false));
                CallTurn turn = Turn(rig);
                places.AddName(turn, name);
                wrong += places.Find(name with { }) == turn ? 0 : 1;
                places.OnEnded(turn);
                wrong += places.Find(name) is null ? 0 : 1;
            }

            return wrong;
        }))];

        Assert.That((await Task.WhenAll(threads).Bounded()).Sum(), Is.Zero);
    }

    private static CallTurn Turn(ServedRig rig) => new(new ServerCall(rig.Server));

    private CallTurn Nested(ServedRig rig) => new(new ServerCall(rig.Server)) { Parent = _name };
}
