"""Sends CloudEvents to the service until they are answered. Returns the answer, also where some events are wrong."""

import http.client, json, time, urllib.error, urllib.request

def send(events, url="http://localhost:7071", key="", pause=5):
    headers = {"content-type": "application/cloudevents-batch+json", "x-functions-key": key}
    body = json.dumps(events).encode()
    if len(body) > 4 * 1024 * 1024:
        raise ValueError("more than 4 MiB: send the halves")
    while True:
        wait = pause
        try:
            request = urllib.request.Request(f"{url}/api/events", body, headers)
            return json.load(urllib.request.urlopen(request, timeout=240))
        except urllib.error.HTTPError as error:
            if error.code == 400:
                return json.load(error)
            if error.code not in (429, 500, 502, 503, 504):
                raise
            wait = float(error.headers.get("Retry-After") or pause)
        except (OSError, http.client.HTTPException):
            pass  # no answer, or half of one: send the same again
        time.sleep(wait)
