namespace RpcOverShm.Topics;

/// <content>What the server must be told: whether its files are mapped, and what streams have read.</content>
internal sealed partial class PeerTopics
{
    /// <summary>The next answer for the server; <see cref="DropAnswer"/> follows when it is written.</summary>
    public bool TryPeekAnswer(out uint number, out bool isMapped)
    {
        using (_lock.Enter())
        {
            bool hasAnswer = _answers.TryPeek(out (uint Number, bool IsMapped) answer);
            (number, isMapped) = answer;
            return hasAnswer;
        }
    }

    public void DropAnswer()
    {
        using (_lock.Enter())
        {
            _answers.Dequeue();
            UpdateNews();
        }
    }

    /// <summary>Lets the server know soon what a stream has read.</summary>
    public void Tell(TopicStream stream)
    {
        Action? onNews;
        using (_lock.Enter())
        {
            if (_isOver || stream.IsUntold)
            {
                return;
            }

            stream.IsUntold = true;
            _untold.Enqueue(stream);
            _hasNews = true;
            onNews = OnNews;
        }

        onNews?.Invoke();
    }

    /// <summary>The next stream to tell of; <see cref="DropUntold"/> follows when that is written.</summary>
    public bool TryPeekUntold(out TopicStream? stream)
    {
        using (_lock.Enter())
        {
            return _untold.TryPeek(out stream);
        }
    }

    public void DropUntold()
    {
        using (_lock.Enter())
        {
            _untold.Dequeue().IsUntold = false;
            UpdateNews();
        }
    }

    // Under the lock.
    private void UpdateNews() => _hasNews = _answers.Count > 0 || _untold.Count > 0;
}
