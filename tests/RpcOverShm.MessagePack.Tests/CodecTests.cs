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

    [TestCase(@"WithGroup\.part", TypeArgs = [typeof(WithGroup)])]
    [TestCase(@"WithGroup\.part", TypeArgs = [typeof(WithGroupInside)])]
    [TestCase("Extendable", TypeArgs = [typeof(Extendable)])]
    [TestCase(@"^google\.protobuf\.\w+ can be extended", TypeArgs = [typeof(FileDescriptorProto)])]
    [TestCase(nameof(Handmade), TypeArgs = [typeof(Handmade)])]
    [TestCase(nameof(HandmadeFrom), TypeArgs = [typeof(HandmadeFrom)])]
    public void GroupsExtensionsAndHandwrittenMessages_AreRefusedWhenTheMarshallerIsMade<T>(string pattern)
        where T : class => Assert.That(
            () => Codec.Marshaller<T>(), Throws.InstanceOf<NotSupportedException>().With.Message.Match(pattern));

    [TestCase(TypeArgs = [typeof(Everything)])]
    [TestCase(TypeArgs = [typeof(Scalars)])]
    [TestCase(TypeArgs = [typeof(Optionals)])]
    [TestCase(TypeArgs = [typeof(Lists)])]
    [TestCase(TypeArgs = [typeof(Maps)])]
    [TestCase(TypeArgs = [typeof(Choice)])]
    [TestCase(TypeArgs = [typeof(Node)])]
    [TestCase(TypeArgs = [typeof(WellKnown)])]
    [TestCase(TypeArgs = [typeof(Sparse)])]
    [TestCase(TypeArgs = [typeof(Nothing)])]
    [TestCase(TypeArgs = [typeof(Second)])]
    [TestCase(TypeArgs = [typeof(Value)])]
    [TestCase(TypeArgs = [typeof(StringValue)])]
    public void Type_OfAnyKind_IsCompiled<T>()
        where T : class, IMessage<T>, new() =>
        Assert.That(MessageCompiler.TryCompile<T>(new T().Descriptor), Is.Not.Null);

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
}
