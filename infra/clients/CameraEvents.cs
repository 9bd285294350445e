using System;
using System.Net.Http;
using System.Threading.Tasks;

/// <summary>Sends CloudEvents to the service until they are answered, and returns the answer, even if some events are wrong.</summary>
public static class CameraEvents
{
    /// <summary>A date in Retry-After may come from a wrong clock.</summary>
    private static readonly TimeSpan LongestWait = TimeSpan.FromMinutes(10);

    /// <param name="client">has the address of the service as its BaseAddress and the key among its DefaultRequestHeaders</param>
    /// <param name="events">a JSON array of at most 4 MiB</param>
    /// <param name="pause">between two tries, in seconds, unless the service asks for a longer pause</param>
    public static async Task<string> Send(HttpClient client, string events, double pause = 5)
    {
        if (System.Text.Encoding.UTF8.GetByteCount(events) > 4 * 1024 * 1024) throw new ArgumentException("more than 4 MiB: send the halves");
        while (true)
        {
            var wait = TimeSpan.FromSeconds(pause);
            try
            {
                var body = new StringContent(events, System.Text.Encoding.UTF8, "application/json");
                using var answer = await client.PostAsync("/api/events", body);
                var status = (int)answer.StatusCode;
                if (status is 200 or 400) return await answer.Content.ReadAsStringAsync();
                if (status is not (429 or 500 or 502 or 503 or 504)) answer.EnsureSuccessStatusCode();
                var after = answer.Headers.RetryAfter; // seconds or a date
                var asked = after?.Delta ?? after?.Date - DateTimeOffset.UtcNow ?? wait;
                if (asked > wait) wait = asked < LongestWait ? asked : LongestWait;
            }
            catch (HttpRequestException error) when (error.StatusCode is null) { } // no answer: the same again
            catch (TaskCanceledException) { }
            await Task.Delay(wait);
        }
    }
}
