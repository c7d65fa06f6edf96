namespace RpcOverShm.Hosting.Clients;

/// <summary>The address of a client's server. Two are equal if they have the same text, or the same function.</summary>
/// <param name="Text">The address; null if a function returns it.</param>
/// <param name="Find">Returns the address, from the container; null if the text has it.</param>
internal sealed record ClientAddress(string? Text, Func<IServiceProvider, string>? Find)
{
    /// <exception cref="ArgumentException">The function returns no address.</exception>
    public string In(IServiceProvider provider)
    {
        string? address = Text ?? Find!(provider);
        return string.IsNullOrEmpty(address)
            ? throw new ArgumentException(
                "The function that AddShmClient got for the address returned none; it returns one such as shm://name. "
                + "If it reads the configuration, the key is missing there.")
            : address;
    }

    /// <summary>Returns the address for a message.</summary>
    public override string ToString() => Text ?? "(from a function)";
}
