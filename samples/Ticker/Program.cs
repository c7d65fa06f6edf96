using RpcOverShm.Samples;

// The words of a subscriber's process. Without them the program is the publisher, which starts these.
switch (args)
{
    case []:
        return await Publisher.RunAsync();
    case [SubscriberProcess.Word, string address, string maySkip]:
        return await Subscriber.RunAsync(address, bool.Parse(maySkip));
    default:
        Console.Error.WriteLine("Ticker: takes no arguments. The exit code is 0 if each gap was announced.");
        return 2;
}
