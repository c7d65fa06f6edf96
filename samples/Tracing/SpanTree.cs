using Google.Protobuf;
using RpcOverShm.Samples.Otlp;

namespace RpcOverShm.Samples;

/// <summary>Prints spans as an indented tree: each below the one that caused it.</summary>
internal static class SpanTree
{
    /// <summary>Returns a line for each span; the roots of the traces have no indent.</summary>
    public static IEnumerable<string> Print(IReadOnlyList<(string Service, Span Span)> spans) =>
        Below(spans, ByteString.Empty, indent: "");

    private static IEnumerable<string> Below(
        IReadOnlyList<(string Service, Span Span)> spans, ByteString parent, string indent) =>
        from item in spans
        where item.Span.ParentSpanId == parent
        orderby item.Span.StartTimeUnixNano
        from line in Below(spans, item.Span.SpanId, indent + "  ").Prepend(indent + Describe(item.Service, item.Span))
        select line;

    private static string Describe(string service, Span span)
    {
        string status = span.Attributes.Single(one => one.Key == "rpc.response.status_code").Value.StringValue;
        ulong microseconds = (span.EndTimeUnixNano - span.StartTimeUnixNano) / 1000;
        return $"{span.Kind.ToString().ToUpperInvariant()} {span.Name} {status}, in {service}: {microseconds} µs";
    }
}
