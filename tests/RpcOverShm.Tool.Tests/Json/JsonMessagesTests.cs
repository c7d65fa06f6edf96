using System.Text.Json;
using RpcOverShm.Tool.Json;

namespace RpcOverShm.Tool.Tests.Json;

/// <summary>JSON values one after another in a text.</summary>
public class JsonMessagesTests
{
    [TestCase("", "")]
    [TestCase(" \n\t\n", "")]
    [TestCase("{}", "{}")]
    [TestCase("{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}|{\"a\":2}")]
    [TestCase("{\"a\":1}{\"a\":2} [3]", "{\"a\":1}|{\"a\":2}|[3]")]
    [TestCase("{\n  \"a\": [\n    1,\n    2\n  ]\n}\n{}", "{\"a\":[1,2]}|{}")]
    [TestCase("1\n\"x\" true\nnull", "1|\"x\"|true|null")]
    [TestCase("12 345", "12|345")]
    public async Task ReadAsync_OfValues_ReturnsEach(string text, string values)
    {
        var messages = new JsonMessages(new StringReader(text));
        var read = new List<string>();
        while (await messages.ReadAsync(CancellationToken.None) is { } value)
        {
            read.Add(JsonSerializer.Serialize(value));
        }

        Assert.That(string.Join('|', read), Is.EqualTo(values));
    }

    [TestCase("{}\n{\"a\":\n", "line 2: the JSON ends within a message")]
    [TestCase("{}\n\n{a}\n", "line 3: this is no JSON: 'a' is an invalid start of a property name")]
    [TestCase("{\"a\": \"\\ud800\"}", "line 1: this is no JSON")]
    [TestCase("{} }", "line 1: this is no JSON")]
    public void ReadAsync_OfOtherText_NamesTheLine(string text, string message)
    {
        var messages = new JsonMessages(new StringReader(text));

        Assert.That(
            async () =>
            {
                while (await messages.ReadAsync(CancellationToken.None) is not null)
                {
                    // The next one is wrong.
                }
            },
            Throws.TypeOf<JsonInputException>().With.Message.StartsWith(message));
    }

    [Test]
    public void ReadAsync_OfManyListsInsideEachOther_Fails() => Assert.That(
        async () => await new JsonMessages(new StringReader(new string('[', 2000))).ReadAsync(CancellationToken.None),
        Throws.TypeOf<JsonInputException>().With.Message.Contains("depth"));

    // The longer a message is, the more lines it may have: each is read once.
    [Test]
    public async Task ReadAsync_OfAMessageWithManyLines_ReadsIt()
    {
        const int Lines = 50_000;
        string text = "[\n" + string.Join(",\n", Enumerable.Range(0, Lines)) + "\n]\n";

        JsonElement? value = await new JsonMessages(new StringReader(text)).ReadAsync(CancellationToken.None);

        Assert.That(value!.Value.GetArrayLength(), Is.EqualTo(Lines));
    }
}
