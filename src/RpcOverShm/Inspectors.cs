using System.Buffers;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>
/// Presents the public message inspectors as the <see cref="MessageObserver"/> that calls use.
/// </summary>
internal sealed class Inspectors : MessageObserver
{
    private readonly ShmMessageInspector[] _inspectors;

    private Inspectors(ShmMessageInspector[] inspectors) => _inspectors = inspectors;

    /// <summary>Returns the observer of the messages; null without inspectors.</summary>
    /// <exception cref="ArgumentException">An inspector is null.</exception>
    public static Inspectors? Of(IList<ShmMessageInspector> inspectors) => inspectors.Count == 0
        ? null
        : new Inspectors([.. inspectors.Select(one => one ?? throw new ArgumentException(
            $"An inspector of {nameof(ShmServerOptions.MessageInspectors)} is null."))]);

    public override void OnMessage(in MessageOrigin origin, int index, in ReadOnlySequence<byte> payload)
    {
        var message = new ShmInspectedMessage
        {
            Method = origin.Method,
            RequestHeaders = origin.RequestHeaders,
            IsReceived = origin.IsReceived,
            Index = index,
            Payload = payload,
        };
        foreach (ShmMessageInspector inspector in _inspectors)
        {
            if (origin.IsRequest)
            {
                inspector.OnRequest(message);
            }
            else
            {
                inspector.OnResponse(message);
            }
        }
    }
}
