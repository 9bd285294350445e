"""Counts what Frigate detects, and phones RECIPIENTS about its alerts of fire and smoke. Needs paho-mqtt, and send.py in the same folder.

One thread receives, and writes what it receives into the file QUEUE before the broker may forget it. Other threads phone and count from there, so that a call
waits for no count, and neither stops the receiving. The file has one row for each detected object and alert that the service has not answered for yet.
"""

import json, os, queue, sqlite3, threading, time, traceback, urllib.error
from datetime import datetime, timezone
import paho.mqtt.client as mqtt
from send import Unavailable, notify_once, send_once

# Frigate's words in small letters → categories. An attribute (attributes_map) replaces the word of its object in an alert: add it here as well.
LABELS = {"fire": "fire", "smoke": "smoke"}
SERVICE = (os.environ.get("SERVICE_URL", "http://localhost:7071"), os.environ.get("FUNCTION_KEY", ""))
RECIPIENTS = [number.strip() for number in os.environ.get("RECIPIENTS", "").split(",") if number.strip()]
PREFIX = os.environ.get("MQTT_TOPIC_PREFIX", "frigate")
CALLERS, BATCH = 8, 500  # calls under way at once; events in a request
CALL_PAUSE, COUNT_PAUSE, REFUSED_PAUSE = 1, 5, 30  # seconds before the next try; after an answer such as 401
CALL_TIMEOUT = 15  # seconds; the service answers sooner

rows = sqlite3.connect(os.environ.get("QUEUE", "frigate-queue.db"), check_same_thread=False, isolation_level=None)
rows.execute("CREATE TABLE IF NOT EXISTS queue (place INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, id TEXT, value TEXT, UNIQUE (kind, id))")
access, said = threading.Lock(), {}
calls, counts = queue.SimpleQueue(), threading.Event()

def run(statement, *values):
    with access:
        return rows.execute(statement, values).fetchall()

def say(text, key=None, seconds=60):
    """Prints a line; lines of one key at most once in this time."""
    if key is None or time.monotonic() - said.get(key, -seconds) >= seconds:
        said[key] = time.monotonic()
        print(text, flush=True)

def category(words):
    """`fire`, `fire-verified` (it has a sub label) and `fire: north` (made by hand, with a sub label) → `fire`; None for other words."""
    known = [word.split(": ")[0].removesuffix("-verified").casefold() for word in words]
    for word in known:
        if word not in LABELS:
            say(f"Neither counted nor phoned about: {word}. It is not in LABELS.", word, float("inf"))
    return next((LABELS[word] for word in known if word in LABELS), None)

def utc(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()

def detected(after):
    """A message of `new`, `update` or `end`: each has everything about the object, so the latest one takes the place of one that waits."""
    found = category([after["label"]])
    if found is None:
        return
    run("INSERT OR REPLACE INTO queue (kind, id, value) VALUES ('count', ?, ?)", after["id"], json.dumps({
        "specversion": "1.0",
        "id": f"{after['id']}-{after['frame_time']}",
        "source": f"/{PREFIX}",
        "type": "CameraEvent.Changed",
        "time": utc(after["frame_time"]),
        "data": {
            "event_id": after["id"],
            "camera_id": after["camera"],
            "ts_utc": utc(after["start_time"]),
            "detections": {found: 0 if after.get("false_positive") else 1},
        },
    }))
    counts.set()

def reviewed(after):
    """A message of `new`, `update` or `end`. An alert may begin as a detection, and fire may come into it later. The key lets it phone once."""
    words = [*after["data"]["objects"], *after["data"].get("audio", [])]
    if category(words) is None:
        return
    if after["severity"] != "alert":
        return say(f"No call yet: {', '.join(words)} of {after['camera']} is no alert. See review.alerts.labels of Frigate.", f"no alert of {after['camera']}")
    value = json.dumps({"channel": "phone", "alert_type": "ReportOfFire", "recipients": RECIPIENTS, "reference": after["camera"]})
    if RECIPIENTS and not run("SELECT 1 FROM queue WHERE kind = 'call' AND id = ?", after["id"]):
        run("INSERT INTO queue (kind, id, value) VALUES ('call', ?, ?)", after["id"], value)
        calls.put((after["id"], value))

def phone():
    while True:
        review, value = calls.get()
        while not answered("a call", CALL_PAUSE, notify_once, json.loads(value), f"frigate-{review}", *SERVICE, CALL_TIMEOUT):
            pass
        run("DELETE FROM queue WHERE kind = 'call' AND id = ?", review)

def count():
    while True:
        batch = run("SELECT place, value FROM queue WHERE kind = 'count' ORDER BY place LIMIT ?", BATCH)
        if not batch:
            counts.wait()
            counts.clear()
        elif answered("counts", COUNT_PAUSE, send_once, [json.loads(value) for _, value in batch], *SERVICE):
            # A later message about an object has another place.
            run(f"DELETE FROM queue WHERE place IN ({','.join(str(place) for place, _ in batch)})")

def answered(what, pause, request, *values):
    """Sends once. False, after a pause, if it must be sent again."""
    try:
        answer = request(*values)
        if "code" in answer:
            say(f"{what}: {answer['detail']}")
        return True
    except Unavailable as error:
        say(f"{what}: the service does not answer. What waits is sent again.", what)
        time.sleep(max(error.seconds, pause))
    except urllib.error.HTTPError as error:
        say(f"{what}: the service answers {error.code}. Is the key right?", what)
        time.sleep(REFUSED_PAUSE)
    return False

HANDLERS = {f"{PREFIX}/events": detected, f"{PREFIX}/reviews": reviewed}

def on_message(_client, _userdata, message):
    try:
        HANDLERS[message.topic](json.loads(message.payload)["after"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        say(f"Not understood: {message.topic} {message.payload[:200]} ({error!r})")

def on_connect(client, _userdata, _flags, code, *_):
    if code != 0:
        return say(f"The broker refuses the connection: {code}")
    client.subscribe([(topic, 1) for topic in HANDLERS])

def end(error):
    """No thread fails alone: what is started again continues with the file and the broker's session."""
    traceback.print_exception(error.exc_type, error.exc_value, error.exc_traceback)
    os._exit(1)

threading.excepthook = end
if not RECIPIENTS:
    say("RECIPIENTS is empty: nobody is phoned.")
for waiting in run("SELECT id, value FROM queue WHERE kind = 'call' ORDER BY place"):
    calls.put(waiting)
for work in [count] + [phone] * CALLERS:
    threading.Thread(target=work, daemon=True).start()

# A session of this name: the broker keeps messages for it while this program is away.
version = [mqtt.CallbackAPIVersion.VERSION2] if hasattr(mqtt, "CallbackAPIVersion") else []  # paho-mqtt 2, or 1.6
client = mqtt.Client(*version, client_id=os.environ.get("MQTT_CLIENT_ID", "wildfire-camera-activity"), clean_session=False)
client.username_pw_set(os.environ.get("MQTT_USERNAME"), os.environ.get("MQTT_PASSWORD"))
client.on_connect, client.on_message = on_connect, on_message
client.reconnect_delay_set(1, 2)
client.connect_async(os.environ.get("MQTT_HOST", "localhost"), int(os.environ.get("MQTT_PORT", "1883")), keepalive=15)
client.loop_forever(retry_first_connection=True)
