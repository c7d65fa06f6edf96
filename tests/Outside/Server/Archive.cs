using Outside.Contract;

namespace Outside.Server;

/// <summary>The service without a .proto file.</summary>
internal sealed class Archive : IArchive
{
    public Task<Page> FindAsync(Page page) => Task.FromResult(
        new Page { Number = page.Number, Text = $"page {page.Number}" });
}
