using System.Buffers.Binary;
using System.Collections.Frozen;
using System.Numerics;
using System.Text;
using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Servers;

/// <summary>
/// Maps the full names of methods in UTF-8, as they arrive on the wire, to their handlers. A lookup allocates and
/// decodes nothing. Only the server adds names, so a peer cannot cause collisions. Immutable.
/// </summary>
internal sealed class MethodTable
{
    private const int LongestTextLogged = 500;

    // 2^64 divided by the golden ratio: spreads names that differ in few bits.
    private const ulong Factor = 0x9E37_79B9_7F4A_7C15;

    private readonly Entry[][] _buckets;
    private readonly FrozenSet<string> _services;

    /// <summary>
    /// Collects the methods of services; those of <paramref name="ordered"/> start in order. Generated marshallers are
    /// wrapped by <paramref name="withoutCodec"/>, if there is any.
    /// </summary>
    /// <exception cref="ArgumentException">
    /// Two services have a method of the same name, or no codec serialises the messages of a method.
    /// </exception>
    public MethodTable(
        IEnumerable<ServerServiceDefinition> definitions,
        IReadOnlyList<MarshallerProvider> codecs,
        IReadOnlySet<string>? ordered = null,
        MessageObserver? observer = null,
        MarshallerProvider? withoutCodec = null)
    {
        var collector = new Collector(codecs, ordered, observer, withoutCodec);
        foreach (ServerServiceDefinition definition in definitions)
        {
            definition.AddTo(collector);
        }

        // More than twice as many buckets as methods.
        int count = (int)BitOperations.RoundUpToPowerOf2(((uint)collector.Handlers.Count * 2) + 1);
        Entry[] entries = [.. collector.Handlers.Select(one => new Entry(Encoding.UTF8.GetBytes(one.Key), one.Value))];
        ILookup<uint, Entry> byHash = entries.ToLookup(entry => Hash(entry.Name) & (uint)(count - 1));
        _buckets = [.. Enumerable.Range(0, count).Select(bucket => byHash[(uint)bucket].ToArray())];
        _services = collector.Handlers.Values.Select(one => one.ServiceName).ToFrozenSet(StringComparer.Ordinal);
    }

    /// <summary>Returns the handler of a method by its full name with the leading slash; null if none.</summary>
    public MethodHandler? Find(ReadOnlySpan<byte> fullName)
    {
        foreach (Entry entry in _buckets[Hash(fullName) & (uint)(_buckets.Length - 1)])
        {
            if (fullName.SequenceEqual(entry.Name))
            {
                return entry.Handler;
            }
        }

        return null;
    }

    /// <summary>Returns the status for an unknown method; its detail says whether the service exists.</summary>
    public Status CreateUnimplementedStatus(string fullName)
    {
        int slash = fullName.LastIndexOf('/');
        bool isServiceKnown = slash > 0 && _services.Contains(fullName[1..slash]);
        return new Status(
            StatusCode.Unimplemented,
            isServiceKnown ? StatusMapping.MethodUnknownDetail : StatusMapping.ServiceUnknownDetail);
    }

    /// <summary>Logs a call of an unknown method, with the services that exist.</summary>
    public void LogUnimplemented(ServerSettings settings, string fullName)
    {
        if (settings.Logger.IsEnabled(LogLevel.Warning))
        {
            // The client chooses the name, and there may be many services.
            string name = PeerText.Escape(fullName, PeerText.LongestName);
            DeferredLog.Write(settings.Logger, to => ShmLog.MethodUnimplemented(
                to, name, settings.Side, settings.Address, Offered()));
        }

        string Offered() =>
            _services.Count == 0 ? "no services" : Cut(string.Join(", ", _services.Order(StringComparer.Ordinal)));

        static string Cut(string text) => text.Length <= LongestTextLogged ? text : text[..LongestTextLogged] + "...";
    }

    private static uint Hash(ReadOnlySpan<byte> name)
    {
        ulong hash = (ulong)name.Length;
        ReadOnlySpan<byte> rest = name;
        for (; rest.Length >= sizeof(ulong); rest = rest[sizeof(ulong)..])
        {
            hash = Mix(hash, BinaryPrimitives.ReadUInt64LittleEndian(rest));
        }

        if (name.Length >= sizeof(ulong))
        {
            // Hash the last eight bytes, some of them a second time: that is faster than hashing the rest byte by byte.
            hash = Mix(hash, BinaryPrimitives.ReadUInt64LittleEndian(name[^sizeof(ulong)..]));
            return (uint)hash;
        }

        foreach (byte letter in rest)
        {
            hash = Mix(hash, letter);
        }

        return (uint)hash;
    }

    private static ulong Mix(ulong hash, ulong word)
    {
        ulong product = (hash ^ word) * Factor;
        return product ^ (product >> 32);
    }

    private readonly record struct Entry(byte[] Name, MethodHandler Handler);

    private sealed class Collector(
        IReadOnlyList<MarshallerProvider> codecs,
        IReadOnlySet<string>? ordered,
        MessageObserver? observer,
        MarshallerProvider? withoutCodec)
        : ServiceBinderBase
    {
        public Dictionary<string, MethodHandler> Handlers { get; } = new(StringComparer.Ordinal);

        public override void AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method, UnaryServerMethod<TRequest, TResponse>? handler) =>
            Add(method, handler);

        public override void AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method, ClientStreamingServerMethod<TRequest, TResponse>? handler) =>
            Add(method, handler);

        public override void AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method, ServerStreamingServerMethod<TRequest, TResponse>? handler) =>
            Add(method, handler);

        public override void AddMethod<TRequest, TResponse>(
            Method<TRequest, TResponse> method, DuplexStreamingServerMethod<TRequest, TResponse>? handler) =>
            Add(method, handler);

        private void Add<TRequest, TResponse>(Method<TRequest, TResponse> method, Delegate? handler)
            where TRequest : class
            where TResponse : class
        {
            // Generated code binds methods without handlers for discovery. Such a method is not served.
            if (handler is null)
            {
                return;
            }

            var typed = new TypedMethodHandler<TRequest, TResponse>(method, codecs, handler, observer, withoutCodec)
            {
                IsOrdered = ordered?.Contains(method.FullName) == true,
            };
            if (!Handlers.TryAdd(method.FullName, typed))
            {
                throw new ArgumentException($"Two services have a method '{method.FullName}'.");
            }
        }
    }
}
