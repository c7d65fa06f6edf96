using System.Globalization;

namespace RpcOverShm.TestPeer.Traces;

/// <summary>
/// Notes which methods work, in their order on each thread. A copy of the library, which the tests make, calls it
/// before each step of its methods.
/// </summary>
public static class MethodTrace
{
    /// <summary>The entry that separates the calls of a thread. No method has this number.</summary>
    public const int Mark = 0;

    private const int MostEntries = 1 << 22;

    private static readonly List<List<int>> s_threads = [];
    private static volatile bool s_isOn;

    [ThreadStatic]
    private static List<int>? s_own;

    public static void Start() => s_isOn = true;

    /// <summary>Separates two calls of this thread.</summary>
    public static void Separate() => Step(Mark);

    /// <summary>A step of the method with this number follows.</summary>
    public static void Step(int method)
    {
        if (!s_isOn)
        {
            return;
        }

        List<int> own = s_own ??= Add();
        if (own.Count < MostEntries && (own.Count == 0 || own[^1] != method))
        {
            own.Add(method);
        }
    }

    /// <summary>Ends, and writes a line with the entries of each thread that has separated calls.</summary>
    public static void Write(string path)
    {
        s_isOn = false;
        lock (s_threads)
        {
            File.WriteAllLines(path, s_threads.Where(thread => thread.Contains(Mark)).Select(LineOf));
        }
    }

    private static List<int> Add()
    {
        List<int> own = [];
        lock (s_threads)
        {
            s_threads.Add(own);
        }

        return own;
    }

    // Its thread may add one more meanwhile.
    private static string LineOf(List<int> thread) => string.Join(
        ' ', Enumerable.Range(0, thread.Count).Select(i => thread[i].ToString(CultureInfo.InvariantCulture)));
}
