using RpcOverShm.Diagnostics;

namespace RpcOverShm.TestPeer;

/// <summary>
/// The other process of the tests. Reads one command per line from standard input and answers each with one line: "ok"
/// with what was asked for, or "error" with what went wrong. Ends with its standard input, and with its parent.
/// </summary>
internal static class Program
{
    private static async Task<int> Main(string[] arguments)
    {
        // Before anything of the library runs: it reads the switch once.
        if (arguments is ["--crash-at", string point, ..])
        {
            AppContext.SetData(CrashPoint.Switch, point);
        }

        ParentWatch.Start();
        await using var commands = new PeerCommands();
        while (await Console.In.ReadLineAsync() is { } line)
        {
            string reply;
            try
            {
                reply = ("ok " + await commands.RunAsync(line.Split(' '))).TrimEnd();
            }
            catch (Exception exception)
            {
                reply = $"error {exception.GetType().Name} {exception.Message}".ReplaceLineEndings(" ");
            }

            await Console.Out.WriteLineAsync(reply);
        }

        return 0;
    }
}
