namespace RpcOverShm.Tool.Doctor;

/// <summary>A fact about this machine or user that matters to servers and clients.</summary>
/// <param name="Severity">Whether it is a problem.</param>
/// <param name="Subject">What was looked at, in a word or two.</param>
/// <param name="Text">The fact, as a sentence.</param>
/// <param name="Advice">What to do about it, as a sentence; null for nothing.</param>
internal sealed record Finding(Severity Severity, string Subject, string Text, string? Advice = null)
{
    public static Finding Ok(string subject, string text) => new(Severity.Ok, subject, text);

    public static Finding Note(string subject, string text, string? advice = null) =>
        new(Severity.Note, subject, text, advice);

    public static Finding Warning(string subject, string text, string advice) =>
        new(Severity.Warning, subject, text, advice);

    public static Finding Problem(string subject, string text, string advice) =>
        new(Severity.Problem, subject, text, advice);
}

/// <summary>The weight of a finding.</summary>
internal enum Severity
{
    /// <summary>All is well.</summary>
    Ok,

    /// <summary>Worth knowing; nothing is wrong.</summary>
    Note,

    /// <summary>Something works worse than it could, or surprises.</summary>
    Warning,

    /// <summary>Servers or clients of this user do not work.</summary>
    Problem,
}
