using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Grpc.Core;
using RpcOverShm.Tool.Json;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Reflection;

namespace RpcOverShm.Tool.Commands;

/// <summary>
/// The messages that a failed call has as details of its status, as gRPC's richer error model sends them.
/// </summary>
internal static class StatusDetails
{
    /// <summary>The trailer that has them.</summary>
    public const string TrailerKey = "grpc-status-details-bin";
    private const int DetailsNumber = 3; // of google.rpc.Status

    /// <summary>Returns each detail as JSON; none if there are none or they cannot be read.</summary>
    public static async Task<IReadOnlyList<string>> ReadAsync(Metadata trailers, MessageCodec codec)
    {
        try
        {
            var details = new List<string>();
            foreach (ByteString any in Read(trailers.GetValueBytes(TrailerKey) ?? []))
            {
                details.Add(await codec.DecodeAsync(any.ToByteArray(), Any.Descriptor, isIndented: false)
                    .ConfigureAwait(false));
            }

            return details;
        }
        catch (Exception exception)
            when (exception is RpcException or WireFormatException or InvalidProtocolBufferException or ToolException)
        {
            return []; // The status is what the user asked for; it is shown without them.
        }
    }

    private static List<ByteString> Read(byte[] status)
    {
        var details = new List<ByteString>();
        var input = new CodedInputStream(status);
        uint wanted = WireFormat.MakeTag(DetailsNumber, WireFormat.WireType.LengthDelimited);
        while (input.ReadTag() is var tag && tag != 0)
        {
            if (tag == wanted)
            {
                details.Add(input.ReadBytes());
            }
            else
            {
                input.SkipLastField();
            }
        }

        return details;
    }
}
