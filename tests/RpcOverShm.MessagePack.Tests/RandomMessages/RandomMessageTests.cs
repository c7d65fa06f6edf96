using FsCheck;
using FsCheck.Fluent;
using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Microsoft.FSharp.Core;
using RpcOverShm.MessagePack.Tests.Protos;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests.RandomMessages;

/// <summary>Random messages survive MessagePack, in both ways, exactly as they survive Protobuf.</summary>
internal sealed class RandomMessageTests
{
    private const int Messages = 500;

    [TestCase(TypeArgs = [typeof(Everything)])]
    [TestCase(TypeArgs = [typeof(Scalars)])]
    [TestCase(TypeArgs = [typeof(Optionals)])]
    [TestCase(TypeArgs = [typeof(Lists)])]
    [TestCase(TypeArgs = [typeof(Maps)])]
    [TestCase(TypeArgs = [typeof(Choice)])]
    [TestCase(TypeArgs = [typeof(Node)])]
    [TestCase(TypeArgs = [typeof(WellKnown)])]
    [TestCase(TypeArgs = [typeof(Second)])]
    [TestCase(TypeArgs = [typeof(Value)])]
    public void Message_AtRandom_IsTheSameBehindBoth<T>()
        where T : class, IMessage<T>, new()
    {
        var seed = new Replay(new Rnd((ulong)TestSeed.Next(), 1), FSharpOption<int>.None);
        Prop.ForAll(RandomMessage.Of(new T().Descriptor), message => Check((T)message))
            .Check(Config.QuickThrowOnFailure.WithMaxTest(Messages).WithReplay(FSharpOption<Replay>.Some(seed)));
    }

    private static void Check<T>(T message)
        where T : class, IMessage<T>
    {
        byte[] compiled = Way.Compiled.Write(message);
        byte[] described = Way.Described.Write(message);

        Assert.That(Codec.Hex(compiled), Is.EqualTo(Codec.Hex(described)));
        T behind = Way.Compiled.Read<T>(compiled);
        Assert.That(behind, Is.EqualTo(message));
        Assert.That(Way.Described.Read<T>(compiled), Is.EqualTo(message));
        Assert.That(Codec.ThroughProtobuf(message), Is.EqualTo(behind));
        Assert.That(Codec.ThroughProtobuf(behind).ToByteArray(), Is.EqualTo(message.ToByteArray()));
    }
}
