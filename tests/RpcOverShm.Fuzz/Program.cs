using System.Diagnostics;
using System.Runtime.InteropServices;
using RpcOverShm.Fuzz.Targets;
using SharpFuzz;
using Trace = SharpFuzz.Common.Trace;

namespace RpcOverShm.Fuzz;

/// <summary>
/// The program that afl-fuzz drives. tests/README.md describes it; the script <c>run</c> beside it runs everything.
/// </summary>
internal static class Program
{
    // Of afl-fuzz and of SharpFuzz.
    private const int EdgeMapBytes = 1 << 16;

    private static readonly Dictionary<string, Func<FuzzTarget>> s_targets = new()
    {
        ["hello"] = () => new HelloTarget(),
        ["request-head"] = () => new RequestHeadTarget(),
        ["trailer"] = () => new TrailerTarget(),
        ["metadata"] = () => new MetadataTarget(),
        ["ring"] = () => new RingTarget(),
        ["topic-ring"] = () => new TopicRingTarget(),
        ["loans"] = () => new LoansTarget(),
        ["payload-field"] = () => new PayloadFieldTarget(),
        ["frames"] = () => new FramesTarget(),
        ["responses"] = () => new ResponsesTarget(),
        ["messagepack"] = () => new MessagePackTarget(),
        ["encoding"] = () => new EncodingTarget(),
    };

    /// <summary>The names of all targets, on the command line and as folders of the corpus.</summary>
    public static IReadOnlyCollection<string> Names => s_targets.Keys;

    public static FuzzTarget Create(string name) => s_targets[name]();

    private static int Main(string[] arguments)
    {
        switch (arguments)
        {
            case ["list"]:
                Console.WriteLine(string.Join('\n', Names));
                return 0;
            case ["fuzz", string name]:
                Fuzz(name);
                return 0;
            case ["seeds", string folder]:
                WriteSeeds(folder);
                return 0;
            case ["replay", string name, .. string[] paths]:
                return Replay(name, paths);
            default:
                Console.Error.WriteLine("list | fuzz TARGET | seeds FOLDER | replay TARGET FILE_OR_FOLDER...");
                return 2;
        }
    }

    // In a child process, which afl-fuzz can end when it hangs, and which may crash. The target is created there at the
    // first input: instrumented code must not run before the child has its map of edges.
    private static void Fuzz(string name)
    {
        if (!ThreadPool.SetMaxThreads(1, 1))
        {
            throw new InvalidOperationException("DOTNET_PROCESSOR_COUNT must be 1.");
        }

        FuzzTarget? target = null;
        Fuzzer.OutOfProcess.Run(stream =>
        {
            target ??= CreateWarm(name);
            using var bytes = new MemoryStream();
            stream.CopyTo(bytes);
            target.Run(bytes.GetBuffer().AsSpan(0, (int)bytes.Length));
        });
    }

    // Reads the seeds with a map of edges that is thrown away. Otherwise static constructors and caches would give the
    // first inputs edges that the same inputs do not have again.
    private static unsafe FuzzTarget CreateWarm(string name)
    {
        // Never freed: a thread of the pool may write a last edge into it later.
        byte* scratch = (byte*)NativeMemory.AllocZeroed(EdgeMapBytes);
        byte* map = Trace.SharedMem;
        Trace.SharedMem = scratch;
        FuzzTarget target = Create(name);
        foreach (byte[] seed in target.Seeds)
        {
            target.Run(seed);
        }

        Trace.SharedMem = map;
        return target;
    }

    private static void WriteSeeds(string folder)
    {
        foreach (string name in Names)
        {
            string own = Path.Combine(folder, name);
            Directory.CreateDirectory(own);
            int number = 0;
            foreach (byte[] seed in Create(name).Seeds)
            {
                File.WriteAllBytes(Path.Combine(own, $"seed-{number++:D2}"), seed);
            }
        }
    }

    // Reads files one by one, and says which ones are findings.
    private static int Replay(string name, string[] paths)
    {
        FuzzTarget target = Create(name);
        int findings = 0;
        int count = 0;
        long start = Stopwatch.GetTimestamp();
        foreach (string file in paths.SelectMany(path => Directory.Exists(path) ? Directory.GetFiles(path) : [path]))
        {
            count++;
            try
            {
                target.Run(File.ReadAllBytes(file));
            }
            catch (Exception exception)
            {
                findings++;
                Console.WriteLine($"{file}: {exception}");
            }
        }

        double seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        Console.WriteLine($"{name}: {count} inputs, {findings} findings, {seconds:F2} s");
        return findings == 0 ? 0 : 1;
    }
}
