using System;
using System.Net.Http;
using System.Text;
using System.Text.Json;
using System.Threading.Tasks;

/// <summary>Sends CloudEvents to the service until they are answered, and returns the answer, even if some events are wrong.</summary>
public static class CameraEvents
{
    /// <summary>A date in Retry-After may come from a wrong clock.</summary>
    private static readonly TimeSpan LongestWait = TimeSpan.FromMinutes(10);

    /// <summary>A POST that is redirected becomes a GET, whose answer looks like success.</summary>
    private static readonly HttpClient Client = new(new HttpClientHandler { AllowAutoRedirect = false }) { Timeout = TimeSpan.FromMinutes(4) };

    /// <param name="events">a JSON array of at most 4 MiB</param>
    /// <param name="pause">between two tries, in seconds, unless the service asks for a longer pause</param>
    public static async Task<string> Send(string events, string url = "http://localhost:7071", string key = "", double pause = 5)
    {
        if (Encoding.UTF8.GetByteCount(events) > 4 * 1024 * 1024) throw new ArgumentException("more than 4 MiB: send the halves");
        while (true)
        {
            var wait = TimeSpan.FromSeconds(pause);
            try
            {
                using var request = new HttpRequestMessage(HttpMethod.Post, $"{url}/api/events");
                request.Content = new StringContent(events, Encoding.UTF8, "application/json");
                request.Headers.Add("x-functions-key", key);
                using var answer = await Client.SendAsync(request);
                var status = (int)answer.StatusCode;
                var text = await answer.Content.ReadAsStringAsync();
                if (status is 200 or 400 && IsOfService(text)) return text;
                if (status is not (429 or 500 or 502 or 503 or 504)) throw new InvalidOperationException($"answered with {status}");
                var after = answer.Headers.RetryAfter; // seconds or a date
                var asked = after?.Delta ?? after?.Date - DateTimeOffset.UtcNow ?? wait;
                if (asked > wait) wait = asked < LongestWait ? asked : LongestWait;
            }
            catch (HttpRequestException) { } // no answer, or half an answer: the same again
            catch (TaskCanceledException) { }
            await Task.Delay(wait);
        }
    }

    /// <summary>False if another server answered, such as a proxy.</summary>
    private static bool IsOfService(string text)
    {
        try
        {
            using var answer = JsonDocument.Parse(text);
            var root = answer.RootElement;
            return root.ValueKind == JsonValueKind.Object && (root.TryGetProperty("recorded", out _) || root.TryGetProperty("code", out _));
        }
        catch (JsonException) { return false; }
    }
}
