using Google.Protobuf;
using Google.Protobuf.Reflection;
using RpcOverShm.Testing;
using RpcOverShm.Tool.Tests.Protos;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Json;

/// <summary>
/// Random messages of every kind of field: the codec, which knows their descriptors only, agrees with Google.Protobuf's
/// JsonFormatter and JsonParser, which know their classes.
/// </summary>
public class RandomMessageTests
{
    private const int Messages = 300;

    private static readonly MessageDescriptor[] s_anyTypes =
    [
        Note.Descriptor, Singles2.Descriptor, Google.Protobuf.WellKnownTypes.Duration.Descriptor,
        Google.Protobuf.WellKnownTypes.Int64Value.Descriptor, Google.Protobuf.WellKnownTypes.Empty.Descriptor,
        Google.Protobuf.WellKnownTypes.Struct.Descriptor, Google.Protobuf.WellKnownTypes.Any.Descriptor,
    ];

    private static readonly TypeRegistry s_registry = TypeRegistry.FromMessages(s_anyTypes);

    private static readonly JsonParser s_parser = new(JsonParser.Settings.Default.WithTypeRegistry(s_registry));
    private static readonly JsonFormatter s_formatter =
        new(JsonFormatter.Settings.Default.WithTypeRegistry(s_registry));

    public static IEnumerable<MessageDescriptor> Types =>
    [
        Singles3.Descriptor, Optionals3.Descriptor, Lists3.Descriptor, Maps3.Descriptor, Choices3.Descriptor,
        Names3.Descriptor, Node3.Descriptor, WellKnown3.Descriptor, Singles2.Descriptor, Lists2.Descriptor,
        Note.Descriptor,
    ];

    [TestCaseSource(nameof(Types))]
    public void Decode_OfARandomMessage_IsWhatJsonFormatterWrites(MessageDescriptor type) => ForEach(type, message =>
    {
        ByteString bytes = message.ToByteString();
        foreach (bool writesDefaults in new[] { false, true })
        {
            string expected = new JsonFormatter(JsonFormatter.Settings.Default
                .WithTypeRegistry(s_registry).WithFormatDefaultValues(writesDefaults)).Format(message);

            string json = Codec.Decode(bytes, type, writesDefaults);

            Assert.That(Codec.AreSame(json, expected), Is.True, $"{json}\n{expected}");
        }
    });

    [TestCaseSource(nameof(Types))]
    public void Encode_OfWhatJsonFormatterWrites_IsWhatJsonParserReads(MessageDescriptor type) =>
        ForEach(type, message =>
        {
            string json = s_formatter.Format(message);
            IMessage expected = s_parser.Parse(json, type);

            IMessage read = type.Parser.ParseFrom(Codec.Encode(json, type));

            // As text, because the bytes in an Any may say the same in another way.
            Assert.That(s_formatter.Format(read), Is.EqualTo(s_formatter.Format(expected)), json);
        });

    [TestCaseSource(nameof(Types))]
    public void Encode_OfWhatDecodeWrites_IsTheSameMessage(MessageDescriptor type) => ForEach(type, message =>
    {
        string json = Codec.Decode(message.ToByteString(), type);

        IMessage read = type.Parser.ParseFrom(Codec.Encode(json, type));

        Assert.That(Codec.AreSame(Codec.Decode(read.ToByteString(), type), json), Is.True, json);
    });

    private static void ForEach(MessageDescriptor type, Action<IMessage> check)
    {
        var messages = new RandomMessage(TestSeed.NewRandom(), s_anyTypes);
        foreach (int _ in FuzzInputs.Numbers(Messages))
        {
            check(messages.Of(type));
        }
    }
}
