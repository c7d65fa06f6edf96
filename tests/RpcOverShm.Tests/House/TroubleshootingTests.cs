using NUnit.Framework.Constraints;

namespace RpcOverShm.Tests.House;

/// <summary>The messages in docs/troubleshooting.md are those of the code, and none is missing.</summary>
public class TroubleshootingTests
{
    private const string Page = "docs/troubleshooting.md";

    // Of the core: options that are refused at start; the public types; reasons of event 103; texts that no user gets.
    private static readonly string[] s_leftOut =
    [
        "OptionRanges.cs", "OptionAccounts.cs", "RendezvousAddress.cs", "SocketAddress.cs", "PipeAddress.cs",
        "SystemAccounts.cs", "Shm", "FrameHeader.cs", "PeerLimits.cs",
        "RingReader.cs", "RingWriter.cs", "TopicReader.cs",
        "SegmentMemory.cs", "SectionMemory.cs", "PeerPages.cs", "MemoryFile.cs",
        "BackgroundThread.cs", "LimitEvents.cs", "TypedMethodHandler.cs", "ConnectionCall.cs",
        "ConnectionCall.Topics.cs",
        "ClientCall.OneWay.cs", "ProcessCounts.cs", "Telemetry.cs", "Inspectors.cs",
    ];

    private static readonly Lazy<MessageTexts> s_texts = new(() => new MessageTexts(Repository.Sources("src")));

    [Test]
    public void Messages_OfThePage_AreThoseOfTheCode() =>
        Findings.AssertNone(MessageRules.Untrue(Repository.Read(Page), s_texts.Value));

    [Test]
    public void Messages_OfTheCode_AreOnThePage() => Findings.AssertNone(MessageRules.Missing(
        Repository.Read(Page),
        s_texts.Value,
        file => file.Path.StartsWith("src/RpcOverShm.Hosting/", StringComparison.Ordinal)
            || (file.Path.StartsWith("src/RpcOverShm/", StringComparison.Ordinal)
                && !s_leftOut.Any(part => file.Name.Contains(part, StringComparison.Ordinal)))));

    [TestCase("| `The door of … is shut: knock later.` | c | d |", null)]
    [TestCase("| `The door of … is shut: knock later. And wait.` | c | d |", "knock later. And wait")]
    public void Untrue_OfAMessage_FindsWhatNoCodeComposes(string row, string? finding) => Check(
        MessageRules.Untrue(Document(row), Texts("throw new E($\"The door of {name} \" + \"is shut: knock later.\");")),
        finding);

    [TestCase("| `The door of … is shut: knock later.` | c | d |", null)]
    [TestCase("| `The door of … is open.` | c | d |", "lacks 'The door of … is shut: knock later.'")]
    public void Missing_OfAText_FindsThatThePageLacksIt(string row, string? finding) => Check(
        MessageRules.Missing(
            Document(row), Texts("throw new E($\"The door of {name} is shut: knock later.\");"), _ => true),
        finding);

    private static void Check(IEnumerable<string> findings, string? finding)
    {
        IResolveConstraint expected = finding is null ? Is.Empty : Has.Some.Contains(finding);
        Assert.That(findings, expected);
    }

    private static SourceFile Document(string row) => new("page.md", row);

    private static MessageTexts Texts(string code) => new([new SourceFile("a.cs", code)]);
}
