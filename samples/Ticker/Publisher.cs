using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>The process that publishes, and that starts, kills and judges the others.</summary>
internal static class Publisher
{
    private const int Batch = 100;

    public static async Task<int> RunAsync()
    {
        await using var server = new ShmServer($"shm://ticker-{Environment.ProcessId}");
        // snippet: topic
        // The memory is small, so that a slow subscriber is soon overtaken.
        using var topic = new ShmTopic<Tick>(new ShmTopicOptions { Capacity = 64 << 10 });
        server.Services.Add(Ticker.BindService(new TickerService(topic)));
        // end snippet
        await server.StartAsync();

        using SubscriberProcess first = await SubscriberProcess.StartAsync("first", server.Address);
        using SubscriberProcess second = await SubscriberProcess.StartAsync("second", server.Address);
        using SubscriberProcess slow = await SubscriberProcess.StartAsync("slow", server.Address, maySkip: true);
        using SubscriberProcess unlucky = await SubscriberProcess.StartAsync("unlucky", server.Address);
        Console.WriteLine($"{topic.Subscribers} processes subscribe.");

        using var stop = new CancellationTokenSource();
        Task<long> publishing = PublishAsync(topic, stop.Token);
        await unlucky.ExpectAsync(Subscriber.Reading);
        await unlucky.KillAsync();
        using SubscriberProcess restarted = await SubscriberProcess.StartAsync("restarted", server.Address);
        Console.WriteLine("One was killed while it was read, and started again.");
        await restarted.ExpectAsync(Subscriber.Reading);
        await first.ExpectAsync(Subscriber.Reading);
        await second.ExpectAsync(Subscriber.Reading);
        await slow.ExpectAsync(Subscriber.Reading);

        await stop.CancelAsync();
        long published = await publishing;
        // snippet: end
        topic.Complete(Status.DefaultSuccess); // All streams end with OK when they have got the last message.
        // end snippet
        bool isRight = await first.ReportAsync(published, mayMiss: false);
        isRight &= await second.ReportAsync(published, mayMiss: false);
        isRight &= await slow.ReportAsync(published, mayMiss: true);
        isRight &= await restarted.ReportAsync(published, mayMiss: false);
        Console.WriteLine($"{published} ticks were published, each once for all.");
        return isRight ? 0 : 1;
    }

    private static async Task<long> PublishAsync(ShmTopic<Tick> topic, CancellationToken stop)
    {
        long published = 0;
        while (!stop.IsCancellationRequested)
        {
            // snippet: publish
            Tick[] ticks = [.. Enumerable.Range(0, Batch).Select(i => TickAt(published + i))];
            await topic.PublishAsync(ticks, CancellationToken.None); // They wake the subscribers once.
            // end snippet
            published += Batch;
            await Task.Delay(TimeSpan.FromMilliseconds(1), CancellationToken.None);
        }

        return published;
    }

    private static Tick TickAt(long number) => new() { Name = "SHM", Sequence = number, Price = 100 + (number % 10) };
}
