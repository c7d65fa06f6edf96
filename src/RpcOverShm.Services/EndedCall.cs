using Grpc.Core;

namespace RpcOverShm.Services;

/// <summary>What a stream of responses meets when its client has gone, which is no failure of the service.</summary>
internal static class EndedCall
{
    /// <summary>Whether a write threw this since its call has ended.</summary>
    /// <remarks>
    /// What it throws then is up to the transport, and it may do so before the call's token fires. Nothing else makes a
    /// write throw these that overlaps no other and is not of null.
    /// </remarks>
    public static bool IsCauseOf(Exception exception) => exception is InvalidOperationException or IOException;

    /// <summary>Writes a message. False when the call has ended, and there is nobody to write to.</summary>
    public static async Task<bool> TryWriteAsync<TMessage>(IServerStreamWriter<TMessage> responses, TMessage message)
    {
        try
        {
            await responses.WriteAsync(message).ConfigureAwait(false);
            return true;
        }
        catch (Exception exception) when (IsCauseOf(exception))
        {
            return false;
        }
    }
}
