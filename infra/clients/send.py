"""Sends CloudEvents, or a notification, to the service until it answers. Returns the answer, also if some events are wrong."""

import http.client, json, time, urllib.error, urllib.request

def send(events, url="http://localhost:7071", key="", pause=5):
    headers = {"content-type": "application/cloudevents-batch+json", "x-functions-key": key}
    return _post(f"{url}/api/events", events, headers, pause)

def notify(notification, idempotency_key, url="http://localhost:7071", key="", pause=5):
    headers = {"content-type": "application/json", "x-functions-key": key, "idempotency-key": idempotency_key}
    return _post(f"{url}/api/notifications", notification, headers, pause)

def _post(url, value, headers, pause):
    body = json.dumps(value).encode()
    if len(body) > 4 * 1024 * 1024:
        raise ValueError("more than 4 MiB: send the halves")
    while True:
        wait = pause
        try:
            request = urllib.request.Request(url, body, headers)
            return json.load(urllib.request.urlopen(request, timeout=240))
        except urllib.error.HTTPError as error:
            is_final = error.code == 502 and error.headers.get_content_type() == "application/problem+json"
            if error.code in (400, 422) or is_final:  # 502: no recipient can be called
                return json.load(error)
            if error.code not in (429, 500, 502, 503, 504):
                raise
            wait = float(error.headers.get("Retry-After") or pause)
        except (OSError, http.client.HTTPException):
            pass  # no answer, or half an answer: send it again
        time.sleep(wait)
