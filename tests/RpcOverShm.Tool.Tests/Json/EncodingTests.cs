using Google.Protobuf;
using Google.Protobuf.Reflection;
using RpcOverShm.Tool.Tests.Protos;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Json;

/// <summary>JSON that is written in other ways than JsonFormatter writes it, against JsonParser.</summary>
public class EncodingTests
{
    [TestCase("""{"i32": 1e3, "u32": "7", "i64": "-9", "u64": "18446744073709551615", "s32": 2.0}""")]
    [TestCase("""{"f64": "1.25", "f32": "NaN"}""")]
    [TestCase("""{"f64": "-Infinity", "f32": "Infinity"}""")]
    [TestCase("""{"colour": "COLOUR_CRIMSON"}""")]
    [TestCase("""{"colour": -7}""")]
    [TestCase("""{"colour": 99}""")]
    [TestCase("""{"raw": "/+8="}""")]
    [TestCase("""{"raw": ""}""")]
    [TestCase("""{"i32": null, "message": null, "nothing": null}""")]
    [TestCase("""{"text": "\u00e9\ud83d\ude00\u0000"}""")]
    [TestCase("""{"message": {"message": {}}}""")]
    public void Encode_OfSingles_IsWhatJsonParserReads(string json) => Compare(json, Singles3.Descriptor);

    [TestCase("""{"snakeCaseName": 1, "camelCaseName": 2, "with1Digit": 3, "@another name": 4, "Leading": 5}""")]
    [TestCase("""{"snake_case_name": 1, "with_1_digit": 3, "renamed": 4, "_leading": 5, "UPPER": 6}""")]
    public void Encode_OfEitherName_IsTheField(string json) => Compare(json, Names3.Descriptor);

    [TestCase("""{"number": 0}""")]
    [TestCase("""{"empty": {}}""")]
    [TestCase("""{"nothing": null}""")]
    [TestCase("""{"wrappedText": null}""")]
    [TestCase("""{"text": "", "two": {"one": "5"}}""")]
    public void Encode_OfAOneof_IsWhatJsonParserReads(string json) => Compare(json, Choices3.Descriptor);

    [TestCase("""{"timestamp": "1972-01-01T10:00:20.021-05:00", "duration": "-0.5s", "mask": "a,bC.dE"}""")]
    [TestCase("""{"value": null, "structure": {"a": [1, null, {"b": "c"}]}, "list": []}""")]
    [TestCase("""{"i64": 5, "u64": "6", "f32": "NaN", "flag": false, "text": "", "raw": "AA==", "empty": {}}""")]
    [TestCase("""{"i64": null, "timestamp": null, "structure": null}""")]
    [TestCase("""{"values": [null, 1, "a"], "wrapped": [1, "2"]}""")]
    public void Encode_OfWellKnownTypes_IsWhatJsonParserReads(string json) => Compare(json, WellKnown3.Descriptor);

    [TestCase("""{"any": {"number": "1", "@type": "type.googleapis.com/rpcovershm.tool.test.Note", "text": "x"}}""")]
    [TestCase("""{"any": {"@type": "a/google.protobuf.Duration", "value": "1.5s"}}""")]
    [TestCase("""{"any": {"value": 7, "@type": "a/google.protobuf.Int32Value"}}""")]
    [TestCase("""{"any": {"@type": "a/google.protobuf.Empty", "value": {}}}""")]
    [TestCase("""{"any": {}}""")]
    public void Encode_OfAny_IsWhatJsonParserReads(string json)
    {
        var registry = TypeRegistry.FromMessages(
            Note.Descriptor,
            Google.Protobuf.WellKnownTypes.Duration.Descriptor,
            Google.Protobuf.WellKnownTypes.Int32Value.Descriptor,
            Google.Protobuf.WellKnownTypes.Empty.Descriptor);
        var parser = new JsonParser(JsonParser.Settings.Default.WithTypeRegistry(registry));

        Assert.That(
            WellKnown3.Parser.ParseFrom(Codec.Encode(json, WellKnown3.Descriptor)),
            Is.EqualTo(parser.Parse<WellKnown3>(json)));
    }

    [Test]
    public void Encode_OfAnUnknownTypeWithItsBytes_KeepsThem()
    {
        const string Json = """{"any": {"@type": "a/no.Such", "@value": "AQI="}}""";

        WellKnown3 read = WellKnown3.Parser.ParseFrom(Codec.Encode(Json, WellKnown3.Descriptor));

        Assert.That(read.Any.TypeUrl, Is.EqualTo("a/no.Such"));
        Assert.That(read.Any.Value.ToByteArray(), Is.EqualTo(new byte[] { 1, 2 }));
        Assert.That(Codec.AreSame(Codec.Decode(read.ToByteString(), WellKnown3.Descriptor), Json), Is.True);
    }

    // JsonParser takes the plain alphabet with padding only; the JSON mapping allows both alphabets.
    [TestCase("/+8=")]
    [TestCase("/+8")]
    [TestCase("_-8=")]
    [TestCase("_-8")]
    public void Encode_OfBase64_TakesEitherAlphabetWithAndWithoutPadding(string text) => Assert.That(
        Singles3.Parser.ParseFrom(Codec.Encode($"{{\"raw\": \"{text}\"}}", Singles3.Descriptor)).Raw.ToByteArray(),
        Is.EqualTo(new byte[] { 0xff, 0xef }));

    [Test]
    public void Encode_OfEmptyAsAnyWithoutValue_IsEmpty()
    {
        WellKnown3 read = WellKnown3.Parser.ParseFrom(
            Codec.Encode("""{"any": {"@type": "a/google.protobuf.Empty"}}""", WellKnown3.Descriptor));

        Assert.That(read.Any.Value, Is.Empty);
    }

    [Test]
    public void Encode_OfNullBesideAnotherOfItsOneof_TakesTheOther()
    {
        Choices3 read = Choices3.Parser.ParseFrom(
            Codec.Encode("""{"number": null, "text": "x"}""", Choices3.Descriptor));

        Assert.That(read, Is.EqualTo(new Choices3 { Text = "x" }));
    }

    [Test]
    public void Encode_OfALargeWholeNumberWithoutQuotes_KeepsEachDigit()
    {
        Singles3 read = Singles3.Parser.ParseFrom(
            Codec.Encode("""{"i64": 9007199254740993, "u64": 18446744073709551615}""", Singles3.Descriptor));

        Assert.That(read, Is.EqualTo(new Singles3 { I64 = 9007199254740993, U64 = ulong.MaxValue }));
    }

    [Test]
    public void Encode_OfMessagesInsideEachOther_GoesAsDeepAsProtobuf()
    {
        string json = Nested(99);

        Node3 read = Node3.Parser.ParseFrom(Codec.Encode(json, Node3.Descriptor));

        Assert.That(Codec.AreSame(Codec.Decode(read.ToByteString(), Node3.Descriptor), json), Is.True);
    }

    /// <summary>Returns a node with this many nodes inside each other.</summary>
    internal static string Nested(int depth) =>
        string.Concat(Enumerable.Repeat("{\"next\":", depth)) + "{}" + new string('}', depth);

    private static void Compare(string json, MessageDescriptor type) => Assert.That(
        type.Parser.ParseFrom(Codec.Encode(json, type)), Is.EqualTo(JsonParser.Default.Parse(json, type)));
}
