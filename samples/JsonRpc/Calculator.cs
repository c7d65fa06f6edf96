using StreamJsonRpc;

namespace RpcOverShm.Samples;

/// <summary>The server's target: a client may invoke its public methods.</summary>
/// <param name="client">The connection, through which the server calls its client back.</param>
internal sealed class Calculator(JsonRpc client)
{
    public static int Add(int first, int second) => first + second;

    public static int Divide(int first, int second) =>
        second != 0 ? first / second : throw new ArgumentException("Nothing can be divided by zero.");

    public static string Reverse(string text) => new([.. text.Reverse()]);

    public async Task<string> AskAsync(string question) =>
        $"You said {await client.InvokeAsync<string>("Answer", question)}.";

    public static async IAsyncEnumerable<int> CountAsync(int to)
    {
        for (int i = 1; i <= to; i++)
        {
            yield return i;
            await Task.Yield();
        }
    }
}
