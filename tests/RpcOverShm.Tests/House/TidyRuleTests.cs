namespace RpcOverShm.Tests.House;

/// <summary>Tests each rule of <see cref="TidyTests"/> with a small file that breaks it.</summary>
public class TidyRuleTests
{
    private const string Sync =
        """
        class Ring
        {
            void Publish()
            {
                // SYNC tail: releases the records.
                SharedMemoryOrder.WriteRelease(ref _tail, 1);
            }

            // SYNC tail: they are visible after this.
            long Look() => SharedMemoryOrder.ReadAcquire(ref _tail);

            long LookAgain()
            {
                long tail = SharedMemoryOrder.ReadAcquire(ref _tail); // SYNC tail: only compared.
                return tail;
            }
        }
        """;

    private const string Crash =
        """
        class Ring
        {
            void Publish()
            {
                // CRASH tail-stored: the peer sees it.
                CrashPoint.Reach(CrashPoint.TailStored);
            }
        }
        """;

    private static readonly Dictionary<string, string> s_points = new() { ["TailStored"] = "tail-stored" };

    [Test]
    public void LengthRules_AtTheLimitAndBeyond_FindTheSecond()
    {
        Assert.That(LengthRules.Files(File(Repeat("// line\n", 400))), Is.Empty);
        Assert.That(LengthRules.Files(File(Repeat("// line\n", 401))), Has.One.Contains("401 lines"));
        Assert.That(LengthRules.Lines(File("\n" + new string('x', 120))), Is.Empty);
        Assert.That(LengthRules.Lines(File("\n" + new string('x', 121))), Has.One.StartsWith("a/A.cs(2): 121 columns"));
        Assert.That(LengthRules.Methods(File(MethodOf(60))), Is.Empty);
        Assert.That(LengthRules.Methods(File(MethodOf(61))), Has.One.Contains("61 lines"));
    }

    [TestCase("class A { void M(int a, int b, int c, int d, int e, int f, int g) { } }", false)]
    [TestCase("class A { void M(int a, int b, int c, int d, int e, int f, int g, int h) { } }", true)]
    [TestCase("class A { A(int a, int b, int c, int d, int e, int f, int g, int h) { } }", false)]
    [TestCase("class A { extern void M(int a, int b, int c, int d, int e, int f, int g, int h); }", false)]
    public void ParameterLists_OfAMethod_FindsTooMany(string code, bool isFound) =>
        Assert.That(LengthRules.ParameterLists(File(code)).Any(), Is.EqualTo(isFound));

    [TestCase("if (a) while (a) for (;;) lock (a) { }", false)]
    [TestCase("if (a) while (a) for (;;) lock (a) { try { } finally { } }", true)]
    [TestCase("if (a) { } else if (a) { } else if (a) { } else if (a) { } else if (a) { } else if (a) { }", false)]
    [TestCase("if (a) while (a) for (;;) lock (a) Run(() => { if (a) { } });", false)]
    public void NestedStatements_OfAMethod_FindsTooDeep(string body, bool isFound) =>
        Assert.That(
            LengthRules.NestedStatements(File($"class A {{ void M() {{ {body} }} }}")).Any(), Is.EqualTo(isFound));

    [TestCase("Thread.Sleep(1)", "sleep on a signal")]
    [TestCase("System.Threading.Thread.Sleep(1)", "sleep on a signal")]
    [TestCase("Console.Out.Flush()", "does not print")]
    [TestCase("DateTime.UtcNow.ToString()", "TimeProvider")]
    [TestCase("DateTimeOffset.Now.ToString()", "TimeProvider")]
    [TestCase("TimeProvider.System.GetUtcNow()", null)]
    [TestCase("DateTime.MaxValue.ToString()", null)]
    public void ForbiddenCalls_OfACall_FindsIt(string call, string? finding) => Assert.That(
        WordRules.ForbiddenCalls(File($"class A {{ void M() => {call}; }}")),
        finding is null ? Is.Empty : Has.One.Contains(finding));

    [TestCase("Task.Run(Act)", true)]
    [TestCase("System.Threading.Tasks.Task.Run(Act)", true)]
    [TestCase("Task.Run(Act).ConfigureAwait(false)", true)]
    [TestCase("Task.Run(Act).GetAwaiter().GetResult()", false)]
    [TestCase("Task.Run(Act).ConfigureAwait(false).GetAwaiter().GetResult()", false)]
    [TestCase("Task.Factory.StartNew(Act)", true)]
    [TestCase("new Timer(Act, this, 1, 1)", true)]
    [TestCase("new Thread(Act) { IsBackground = true }.Start()", true)]
    [TestCase("new Thread(Act) { IsBackground = true }.UnsafeStart()", false)]
    [TestCase("ThreadPool.QueueUserWorkItem(Act)", true)]
    [TestCase("ThreadPool.UnsafeQueueUserWorkItem(Act, null)", false)]
    [TestCase("token.Register(Act)", true)]
    [TestCase("token.UnsafeRegister(Act, null)", false)]
    [TestCase("task.ContinueWith(Act)", true)]
    public void KeptContexts_OfACall_FindsIt(string call, bool isFound)
    {
        Assert.That(WordRules.KeptContexts(File($"class A {{ void M() => {call}; }}")).Any(), Is.EqualTo(isFound));
        Assert.That(
            WordRules.KeptContexts(
                File($"class A {{ void M() {{ using (ExecutionContext.SuppressFlow()) {{ {call}; }} }} }}")),
            Is.Empty);
    }

    [TestCase("src/RpcOverShm/Links/A.cs", "bool M() => OperatingSystem.IsLinux();", true)]
    [TestCase("src/RpcOverShm/Linux/A.cs", "bool M() => System.OperatingSystem.IsWindows();", true)]
    [TestCase("src/RpcOverShm/Links/A.cs", "bool M() => RuntimeInformation.IsOSPlatform(OSPlatform.Linux);", true)]
    [TestCase("src/RpcOverShm/SystemChoice.cs", "bool M() => OperatingSystem.IsLinux();", false)]
    [TestCase("src/RpcOverShm/Systems/A.cs", "[LibraryImport(\"libc\")] static partial int getpid();", true)]
    [TestCase("src/RpcOverShm/Rings/A.cs", "[DllImport(\"libc\")] static extern int getpid();", true)]
    [TestCase("src/RpcOverShm/Windows/A.cs", "[LibraryImport(\"kernel32\")] static partial int Beep();", false)]
    public void SystemsElsewhere_OfAFile_AreFound(string path, string member, bool isFound) => Assert.That(
        WordRules.SystemsElsewhere(new SourceFile(path, $"partial class A {{ {member} }}")).Any(),
        Is.EqualTo(isFound));

    [TestCase("lock (a) { }", true)]
    [TestCase("Monitor.Enter(a);", true)]
    [TestCase("ThreadPool.UnsafeQueueUserWorkItem(a, false);", true)]
    [TestCase("using (a.Enter()) { PoolWork.Queue(a); }", false)]
    public void InterruptibleLocks_AreFound(string statement, bool isFound) => Assert.That(
        WordRules.InterruptibleLocks(File($"class A {{ void M() {{ {statement} }} }}")).Any(), Is.EqualTo(isFound));

    [TestCase("/// <summary>" + "What a ring holds.</summary>", true)]
    [TestCase("/// <summary>\n" + "/// Whose ring it is.\n/// </summary>", true)]
    [TestCase("/// <summary>Whether a ring holds records.</summary>", false)]
    [TestCase("/// <summary>Holds records.</summary>\n/// <remarks>What else?</remarks>", false)]
    public void Openings_OfASummary_FindsQuestionWords(string summary, bool isFound) =>
        Assert.That(WordRules.Openings(File(summary + "\nclass A;")).Any(), Is.EqualTo(isFound));

    [Test]
    public void WordRules_OfBadWords_FindThem()
    {
        string promise = "TO" + "DO";

        Assert.That(WordRules.HiddenCalls(File("using static System.Console;")), Has.Exactly(1).Items);
        Assert.That(WordRules.Regions(File("#region A\nclass A;\n#endregion")), Has.One.StartsWith("a/A.cs(1)"));
        Assert.That(WordRules.Promises(File($"class A; // {promise}: more")), Has.Exactly(1).Items);
        Assert.That(WordRules.Promises(File($"/// <summary>{promise}</summary>\nclass A;")), Has.Exactly(1).Items);
        Assert.That(WordRules.Promises(File($"class A {{ string B = \"{promise}\"; }} // {promise}(#12)")), Is.Empty);
        Assert.That(WordRules.Nobodies(File($"class A; // Who{"ever"} writes.")), Has.Exactly(1).Items);
        Assert.That(WordRules.EmptyNames(File("class RingManager; class Rings;")), Has.One.Contains("RingManager"));
    }

    [Test]
    public void SyncRules_OfAPair_FindNothing() => Assert.That(SyncRules.Check([File(Sync)]), Is.Empty);

    [TestCase("// SYNC tail: releases", "// Releases", "WriteRelease without a SYNC", "acquired and never released")]
    [TestCase("// SYNC tail: releases", "// SYNC head: releases", "head is released and", "tail is acquired and never")]
    [TestCase("// SYNC tail: they are", "// They are", "ReadAcquire without a SYNC", null)]
    [TestCase("// SYNC tail: only compared.", "", "(14): SharedMemoryOrder.ReadAcquire without a SYNC", null)]
    [TestCase("return tail;", "// SYNC tail: of nothing.\nreturn tail;", "stands at nothing", null)]
    public void SyncRules_OfHalfAPair_FindIt(string part, string changed, string finding, string? another)
    {
        string[] findings = [.. SyncRules.Check([File(Sync.Replace(part, changed, StringComparison.Ordinal))])];

        Assert.That(findings, Has.Some.Contains(finding));
        Assert.That(findings, another is null ? Is.Not.Empty : Has.Some.Contains(another));
    }

    [Test]
    public void CrashRules_OfAPointWithCommentAndTest_FindNothing() =>
        Assert.That(CheckCrash(Crash, "class T { string P = CrashPoint.TailStored; }"), Is.Empty);

    [Test]
    public void CrashRules_OfWhatIsMissing_FindIt()
    {
        const string Test = "class T { string P = CrashPoint.TailStored; }";

        Assert.That(CheckCrash(Crash, "class T; // CrashPoint.TailStored"), Has.One.Contains("does not test"));
        Assert.That(CheckCrash("class Ring;", Test), Has.One.Contains("Nothing reaches"));
        Assert.That(CheckCrash(Crash.Replace("tail-stored:", "head-stored:", StringComparison.Ordinal), Test),
            Has.One.Contains("without a comment 'CRASH tail-stored:'"));
        Assert.That(CheckCrash(Crash.Replace("CrashPoint.TailStored", "\"other\"", StringComparison.Ordinal), Test),
            Has.Some.Contains("without a comment"));
        Assert.That(CheckCrash(Crash + "// CRASH nowhere: lost.", Test), Has.One.Contains("stands at nothing"));
    }

    [TestCase("# Title\n\n```sh\n# a comment\n```\n## Section\n", true)]
    [TestCase("# Title\n\n# Another\n", false)]
    [TestCase("Words\n", false)]
    [TestCase("Words\n# Title\n", false)]
    public void Titles_OfADocument_AreOneAndFirst(string markdown, bool isRight) =>
        Assert.That(MarkdownText.Titles(new SourceFile("A.md", markdown)).Any(), Is.EqualTo(!isRight));

    [TestCase("[there](../src/there.md#part), [here](#part), [net](https://example.com/lost)", true)]
    [TestCase("`[not](a link)` and\n```\n[not](either)\n```", true)]
    [TestCase("[lost](there.md)", false)]
    [TestCase("[outside](../../src/there.md)", false)]
    [TestCase("[one](../src/there.md) [two](../src/lost.md \"Title\")", false)]
    [TestCase("[reference]: lost.md", false)]
    public void BrokenLinks_OfADocument_AreFound(string markdown, bool isRight) => Assert.That(
        MarkdownText.BrokenLinks(new SourceFile("docs/A.md", markdown), path => path == "src/there.md").Any(),
        Is.EqualTo(!isRight));

    [TestCase("# A\n## The `one`, and 2!\n[in](#the-one-and-2) [out](B.md#there) [code](b.cs#L3)", true)]
    [TestCase("# A\n## Same\n## Same\n[first](#same) [second](#same-1) [net](https://example.com/#lost)", true)]
    [TestCase("# A\n## A [link](B.md)\n[heading](#a-link)\n```\n[not](#a-link-at-all)\n```", true)]
    [TestCase("# A\n## Same\n[third](#same-1)", false)]
    [TestCase("# A\n```\n# here\n```\n[fenced](#here)", false)]
    [TestCase("# A\n[lost](B.md#here)", false)]
    public void BrokenAnchors_OfADocument_AreFound(string markdown, bool isRight) => Assert.That(
        MarkdownText.BrokenAnchors(
            new SourceFile("docs/A.md", markdown),
            path => path == "docs/B.md" ? new SourceFile(path, "# B\n## There\n") : null).Any(),
        Is.EqualTo(!isRight));

    [TestCase("/" + "home/me/src", true)]
    [TestCase("\"C:" + "\\\\Users\\\\me\"", true)]
    [TestCase("https://api." + "nuget.org/v3", true)]
    [TestCase("https://feed.example.com/v3/" + "index.json", true)]
    [TestCase("registry" + ".example.com", true)]
    [TestCase("http://localhost:5000 shm:///run/name /path.lock \"A:\\n\"", false)]
    public void MachineRules_OfAText_FindWhatBelongsToOneMachine(string text, bool isFound) =>
        Assert.That(MachineRules.Check(new SourceFile("A.txt", text)).Any(), Is.EqualTo(isFound));

    private static IEnumerable<string> CheckCrash(string code, string tests) =>
        CrashRules.Check([File(code)], s_points, new SourceFile("T.cs", tests));

    private static SourceFile File(string text) => new("a/A.cs", text);

    private static string Repeat(string line, int count) => string.Concat(Enumerable.Repeat(line, count));

    private static string MethodOf(int lines) =>
        $"class A\n{{\n    void M()\n    {{\n{Repeat("\n", lines - 3)}    }}\n}}\n";
}
