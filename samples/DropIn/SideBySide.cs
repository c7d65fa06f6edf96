using System.Reflection;

namespace RpcOverShm.Samples;

/// <summary>Prints and compares the code and the output of the tour over both transports.</summary>
internal static class SideBySide
{
    private const int ColumnWidth = 76;
    private const string SnippetBegin = "// snippet: host";
    private const string SnippetEnd = "// end snippet";

    /// <summary>Prints the lines of code that only one of the two hosts has.</summary>
    public static void ShowCode()
    {
        string[] grpcCore = HostLines(nameof(OverGrpcCore));
        string[] sharedMemory = HostLines(nameof(OverSharedMemory));
        string[] left = [.. grpcCore.Except(sharedMemory)];
        string[] right = [.. sharedMemory.Except(grpcCore)];
        Console.WriteLine("The lines that differ; service, client and interceptors do not know of them:");
        Console.WriteLine();
        for (int i = 0; i < Math.Max(left.Length, right.Length); i++)
        {
            string theirs = (left.ElementAtOrDefault(i) ?? "").PadRight(ColumnWidth);
            Console.WriteLine($"  {theirs} {right.ElementAtOrDefault(i)}".TrimEnd());
        }

        Console.WriteLine();
    }

    public static void Show(string title, IReadOnlyList<string> lines)
    {
        Console.WriteLine($"{title}:");
        foreach (string line in lines)
        {
            Console.WriteLine($"  {line}");
        }

        Console.WriteLine();
    }

    /// <summary>Prints the differences, if any. Returns whether both outputs are the same.</summary>
    public static bool ShowVerdict(IReadOnlyList<string> overGrpcCore, IReadOnlyList<string> overSharedMemory)
    {
        if (overGrpcCore.SequenceEqual(overSharedMemory))
        {
            Console.WriteLine($"Both printed the same {overGrpcCore.Count} lines.");
            return true;
        }

        Console.WriteLine("THEY DIFFER:");
        foreach ((string theirs, string ours) in overGrpcCore.Zip(overSharedMemory))
        {
            if (theirs != ours)
            {
                Console.WriteLine($"  Grpc.Core:     {theirs}");
                Console.WriteLine($"  shared memory: {ours}");
            }
        }

        return false;
    }

    private static string[] HostLines(string name)
    {
        using Stream source = Assembly.GetExecutingAssembly().GetManifestResourceStream(name)!;
        using var reader = new StreamReader(source);
        return
        [
            .. reader.ReadToEnd().Split('\n').Select(line => line.Trim())
                .SkipWhile(line => line != SnippetBegin).Skip(1).TakeWhile(line => line != SnippetEnd),
        ];
    }
}
