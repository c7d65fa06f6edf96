using Google.Protobuf.Reflection;
using RpcOverShm.Tool.Json;
using RpcOverShm.Tool.Tests.Protos;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Json;

/// <summary>JSON that does not fit: the message names the place, what is allowed and what is there.</summary>
public class BadInputTests
{
    [TestCase(
        """{"answers": [{}, {}, {}, {"tags": 5}]}""",
        "answers[3].tags: expected a list of strings, found the number 5")]
    [TestCase("""{"tags": ["a", 1]}""", "tags[1]: expected a string, found the number 1")]
    [TestCase("""{"tags": [null]}""", "tags[0]: expected a string, found null")]
    [TestCase("""{"properties": {"a": {}}}""", "properties[\"a\"]: expected a string, found an object")]
    [TestCase("""{"properties": []}""", "properties: expected an object whose values are strings, found a list")]
    [TestCase("""{"txet": ""}""", "the message: rpcovershm.tool.test.Note has no field 'txet'. Did you mean 'text'?")]
    [TestCase("""{"q": ""}""", "Its fields are number, text, tags, written, properties, isDraft, importance")]
    [TestCase("""{"answers": [{"zzzzzzzz": 1}]}""", "answers[0]: rpcovershm.tool.test.Note has no field 'zzzzzzzz'")]
    [TestCase("""{"text": "a", "text": "b"}""", "text: this field stands twice in its object")]
    [TestCase(
        """{"isDraft": true, "importance": 1}""",
        "importance: 'isDraft' is given too, and only one field of 'kind'")]
    [TestCase(
        """{"importance": "HIGH"}""",
        "importance: expected one of IMPORTANCE_NONE, IMPORTANCE_HIGH, or a number")]
    [TestCase(
        """{"written": "yesterday"}""",
        "written: expected a time such as \"2026-11-28T10:00:00Z\", found the string")]
    [TestCase("""{"attachment": {"x": 1}}""", "attachment: expected an object with the type's URL as \"@type\"")]
    [TestCase("""{"attachment": {"@type": "Note"}}""", "attachment.@type: expected a URL that ends with a type")]
    [TestCase("""{"attachment": {"@type": "a/no.Such"}}""", "attachment.@type: the server describes no type no.Such")]
    [TestCase("""{"attachment": {"@type": "a/google.protobuf.Duration"}}""", "expected \"value\" beside \"@type\"")]
    [TestCase("[]", "the message: expected an object with the fields of rpcovershm.tool.test.Note, found a list")]
    public void Encode_OfANoteThatIsWrong_SaysWhatIsAllowed(string json, string text) =>
        Check(json, Note.Descriptor, text);

    [TestCase(
        """{"i32": 2147483648}""",
        "i32: expected a whole number from -2147483648 to 2147483647, found the number")]
    [TestCase("""{"i32": 1.5}""", "i32: expected a whole number")]
    [TestCase("""{"i32": "1 "}""", "i32: expected a whole number")]
    [TestCase("""{"i32": "01"}""", "i32: expected a whole number")]
    [TestCase("""{"i32": "+1"}""", "i32: expected a whole number")]
    [TestCase("""{"i32": ""}""", "i32: expected a whole number")]
    [TestCase("""{"i32": true}""", "i32: expected a whole number from -2147483648 to 2147483647, found true")]
    [TestCase("""{"u32": -1}""", "u32: expected a whole number from 0 to 4294967295, found the number -1")]
    [TestCase("""{"u64": "18446744073709551616"}""", "u64: expected a whole number from 0 to 18446744073709551615")]
    [TestCase("""{"i64": 1e40}""", "i64: expected a whole number")]
    [TestCase("""{"f32": 1e39}""", "f32: expected a number")]
    [TestCase("""{"f64": 1e999}""", "f64: expected a number")]
    [TestCase("""{"f64": "nan"}""", "f64: expected a number, or one of the strings NaN, Infinity and -Infinity")]
    [TestCase("""{"flag": "true"}""", "flag: expected true or false, found the string \"true\"")]
    [TestCase("""{"text": 5}""", "text: expected a string, found the number 5")]
    [TestCase("""{"raw": "a"}""", "raw: expected a string with the bytes as base64")]
    [TestCase("""{"raw": "!!!!"}""", "raw: expected a string with the bytes as base64")]
    [TestCase("""{"colour": "PINK"}""", "colour: expected one of COLOUR_NONE, COLOUR_RED")]
    public void Encode_OfASingleThatIsWrong_SaysWhatIsAllowed(string json, string text) =>
        Check(json, Singles3.Descriptor, text);

    [TestCase("""{"i32": {"a": 1}}""", "i32[\"a\"]: expected a whole number")]
    [TestCase("""{"i32": {"1": 1, "1.0": 1}}""", "i32[\"1.0\"]: this key stands twice in its object")]
    [TestCase("""{"flag": {"yes": 1}}""", "flag[\"yes\"]: expected the key \"true\" or \"false\", found \"yes\"")]
    [TestCase("""{"messages": {"1": null}}""", "messages[\"1\"]: expected an object with the fields of")]
    public void Encode_OfAMapThatIsWrong_SaysWhatIsAllowed(string json, string text) =>
        Check(json, Maps3.Descriptor, text);

    [Test]
    public void Encode_WithoutARequiredField_NamesIt()
    {
        Check(
            "{}",
            Singles2.Descriptor,
            "the field 'needed' of rpcovershm.tool.test.Singles2 is required: a whole number");
        Check(
            """{"needed": 1, "message": {"needed": null}}""",
            Singles2.Descriptor,
            "message: the field 'needed' of rpcovershm.tool.test.Singles2 is required");
    }

    [Test]
    public void Encode_OfTooManyMessagesInsideEachOther_SaysHowManyMayBe() =>
        Check(EncodingTests.Nested(100), Node3.Descriptor, "expected at most 100 messages inside each other");

    private static void Check(string json, MessageDescriptor type, string text) => Assert.That(
        () => Codec.Encode(json, type), Throws.TypeOf<JsonInputException>().With.Message.Contains(text));
}
