using StreamJsonRpc;

namespace RpcOverShm.Samples;

/// <summary>The client process: makes calls of each kind, and compares what it gets.</summary>
internal static class CalculatorClient
{
    private const int LongText = 1 << 20;

    /// <summary>Returns the exit code: 0 if all results were as expected.</summary>
    public static async Task<int> RunAsync(string address)
    {
        // snippet: client
        await using ShmStream stream = await ShmStream.ConnectAsync(address);
        using JsonRpc rpc = JsonRpc.Attach(stream, new Answers());
        int sum = await rpc.InvokeAsync<int>("Add", 40, 2);
        // end snippet
        List<string> seen = [$"Add: {sum}"];

        string text = new('a', LongText);
        string reversed = await rpc.InvokeAsync<string>("Reverse", text + "b");
        seen.Add($"Reverse: {(reversed == "b" + text ? "all characters" : "other characters")}");
        try
        {
            await rpc.InvokeAsync<int>("Divide", 1, 0);
        }
        catch (RemoteInvocationException exception)
        {
            seen.Add($"Divide: {exception.Message}");
        }

        seen.Add($"Ask: {await rpc.InvokeAsync<string>("AskAsync", "Yes?")}");
        List<int> counted = [];
        await foreach (int number in await rpc.InvokeAsync<IAsyncEnumerable<int>>("CountAsync", 3))
        {
            counted.Add(number);
        }

        seen.Add($"Count: {string.Join(", ", counted)}");
        seen.ForEach(Console.WriteLine);
        string[] expected =
        [
            "Add: 42",
            "Reverse: all characters",
            "Divide: Nothing can be divided by zero.",
            "Ask: You said Yes!.",
            "Count: 1, 2, 3",
        ];
        return seen.SequenceEqual(expected) ? 0 : 1;
    }

    /// <summary>The client's target, for calls of the server.</summary>
    private sealed class Answers
    {
        public static string Answer(string question) => question.Replace('?', '!');
    }
}
