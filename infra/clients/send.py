"""Sends CloudEvents, or a notification, to the service until it answers. Returns the answer, also if some events are wrong."""

import http.client, json, re, time, urllib.error, urllib.request
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 600  # seconds; a date in Retry-After may come from a wrong clock

class Unavailable(Exception):
    """The service did not answer, or not yet: send the same again, after `seconds` if the service named a time."""

    def __init__(self, seconds=0):
        super().__init__("the service does not answer now")
        self.seconds = seconds

def send(events, url="http://localhost:7071", key="", pause=5):
    return _repeat(lambda: send_once(events, url, key), pause)

def notify(notification, idempotency_key, url="http://localhost:7071", key="", pause=5):
    return _repeat(lambda: notify_once(notification, idempotency_key, url, key), pause)

def send_once(events, url, key, timeout=240):
    headers = {"content-type": "application/cloudevents-batch+json", "x-functions-key": key}
    return _post(f"{url}/api/events", events, headers, timeout)

def notify_once(notification, idempotency_key, url, key, timeout=240):
    headers = {"content-type": "application/json", "x-functions-key": key, "idempotency-key": idempotency_key}
    return _post(f"{url}/api/notifications", notification, headers, timeout)

class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A POST that is redirected becomes a GET, whose answer looks like success."""

    def redirect_request(self, *_):
        return None

_open = urllib.request.build_opener(_NoRedirect).open

def retry_after(header):
    """The seconds to wait by a Retry-After header: a number or a date (RFC 9110); 0 if it is missing or neither."""
    text = (header or "").strip()
    if re.fullmatch("[0-9]{1,9}", text):
        return min(int(text), LONGEST_WAIT)
    try:
        date = parsedate_to_datetime(text) if text[:1].isalpha() else None
        return min(max((date.replace(tzinfo=timezone.utc) - datetime.now(timezone.utc)).total_seconds(), 0), LONGEST_WAIT)
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError):
        return 0

def _repeat(request, pause):
    while True:
        try:
            return request()
        except Unavailable as error:
            time.sleep(max(error.seconds, pause))

def _post(url, value, headers, timeout):
    body = json.dumps(value).encode()
    if len(body) > 4 * 1024 * 1024:
        raise ValueError("more than 4 MiB: send the halves")
    try:
        request = urllib.request.Request(url, body, headers)
        answer = _answer(_open(request, timeout=timeout))
        if answer is None:
            raise Unavailable()  # another server answered, such as a proxy
        return answer
    except urllib.error.HTTPError as error:
        is_final = error.code == 502 and error.headers.get_content_type() == "application/problem+json"
        answer = _answer(error) if error.code in (400, 422) or is_final else None
        if answer is not None:  # 502: no recipient can be called
            return answer
        if error.code not in (429, 500, 502, 503, 504):
            raise
        raise Unavailable(retry_after(error.headers.get("Retry-After"))) from None
    except (OSError, http.client.HTTPException):
        raise Unavailable() from None  # no answer, or half an answer

def _answer(response):
    """The answer of the service; None if another server answered."""
    try:
        answer = json.load(response)
        return answer if {"recorded", "notification_id", "code"} & answer.keys() else None
    except (AttributeError, ValueError):
        return None
