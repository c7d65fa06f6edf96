using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using RpcOverShm.MessagePack.Messages;
using RpcOverShm.MessagePack.Tests.Protos;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>The types that the codec accepts, and its errors for the others.</summary>
internal sealed class CodecTests
{
    [Test]
    public void Name_OfTheCodec_IsMsgpack() => Assert.That(ShmMessagePackCodec.Instance.Name, Is.EqualTo("msgpack"));

    [Test]
    public void Groups_AreRefusedWhenTheMarshallerIsMade()
    {
        Assert.That(
            () => ShmMessagePackCodec.Instance.CreateMarshaller<WithGroup>(null!),
            Throws.InstanceOf<NotSupportedException>().With.Message.Contains("WithGroup.part"));
        Assert.That(
            () => ShmMessagePackCodec.Instance.CreateMarshaller<WithGroupInside>(null!),
            Throws.InstanceOf<NotSupportedException>().With.Message.Contains("WithGroup.part"));
    }

    [Test]
    public void Extensions_AreRefusedWhenTheMarshallerIsMade()
    {
        Assert.That(
            () => ShmMessagePackCodec.Instance.CreateMarshaller<Extendable>(null!),
            Throws.InstanceOf<NotSupportedException>().With.Message.Contains("Extendable"));
        Assert.That(
            () => ShmMessagePackCodec.Instance.CreateMarshaller<FileDescriptorProto>(null!),
            Throws.InstanceOf<NotSupportedException>().With.Message.Match(@"^google\.protobuf\.\w+ can be extended"));
    }

    [Test]
    public void Messages_WrittenByHand_AreRefusedWhenTheMarshallerIsMade()
    {
        Assert.That(
            () => ShmMessagePackCodec.Instance.CreateMarshaller<Handmade>(null!),
            Throws.InstanceOf<NotSupportedException>().With.Message.Contains(nameof(Handmade)));
        Assert.That(
            () => ShmMessagePackCodec.Instance.CreateMarshaller<HandmadeFrom>(null!),
            Throws.InstanceOf<NotSupportedException>().With.Message.Contains(nameof(HandmadeFrom)));
    }

    [Test]
    public void Types_AllOfThem_AreCompiled()
    {
        AssertCompiled<Everything>();
        AssertCompiled<Scalars>();
        AssertCompiled<Optionals>();
        AssertCompiled<Lists>();
        AssertCompiled<Maps>();
        AssertCompiled<Choice>();
        AssertCompiled<Node>();
        AssertCompiled<WellKnown>();
        AssertCompiled<Sparse>();
        AssertCompiled<Nothing>();
        AssertCompiled<Second>();
        AssertCompiled<Value>();
        AssertCompiled<StringValue>();
    }

    [Test]
    public async Task Type_FirstUsedByManyThreads_IsTheSameToAll()
    {
        // No other test uses these types.
        var api = new Api
        {
            Name = "api",
            Methods = { new Method { Name = "m", Options = { new Option { Name = "o", Value = new Any() } } } },
            SourceContext = new SourceContext { FileName = "f" },
            Mixins = { new Mixin { Name = "x" } },
            Version = "v",
        };
        using var start = new ManualResetEventSlim();
        Task<bool>[] all =
        [
            .. Enumerable.Range(0, 8).Select(_ => Timeouts.OnThread(() =>
            {
                start.Wait();
                return Way.Compiled.Read<Api>(Way.Compiled.Write(api)).Equals(api);
            })),
        ];

        start.Set();

        Assert.That(await Task.WhenAll(all).Bounded(), Is.All.True);
    }

    [Test]
    public void FieldsThatProtobufKeepsUnread_AreLost()
    {
        OldScalars old = OldScalars.Parser.ParseFrom(new Scalars { I32 = 5, Text = "x" }.ToByteArray());

        OldScalars read = Way.Compiled.Read<OldScalars>(Way.Compiled.Write(old));

        Assert.That(read, Is.EqualTo(new OldScalars { Text = "x" }));
        Assert.That(Codec.ThroughProtobuf(old), Is.EqualTo(old).And.Not.EqualTo(read));
    }

    /// <summary>A message whose descriptor is that of another type.</summary>
    private class Handmade : IMessage
    {
        public MessageDescriptor Descriptor => Scalars.Descriptor;

        public int CalculateSize() => 0;

        public void MergeFrom(CodedInputStream input)
        {
        }

        public void WriteTo(CodedOutputStream output)
        {
        }
    }

    /// <summary>A message without a parameterless constructor.</summary>
    private sealed class HandmadeFrom(string text) : Handmade
    {
        public override string ToString() => text;
    }

    private static void AssertCompiled<T>()
        where T : class, IMessage<T>, new() => Assert.That(
            MessageCompiler.TryCompile<T>(new T().Descriptor), Is.Not.Null, typeof(T).Name);
}
