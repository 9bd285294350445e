"""Counts what Frigate detects, and phones RECIPIENTS about its alerts of fire and smoke. Needs paho-mqtt, and send.py in the same folder.

One thread receives. It starts a call at once, and writes what it receives into the file QUEUE before the broker may forget it. Other threads send, so that a
call waits for no count and for no other call. The file has one row for each detected object and alert that the service has not answered for yet. Without the
file, as on a full disk, the rows stay in memory.
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
CALLERS, BATCH = 8, 500  # threads that repeat calls; events in a request
CALL_PAUSE, COUNT_PAUSE, REFUSED_PAUSE = 1, 5, 30  # seconds before the next try; for counts, after an answer such as 401
CALL_TIMEOUT = 5  # seconds; to repeat a request that has no answer is safe, because of its key
MOST_THREADS, MOST_UNSAVED, LONGEST = 64, 100_000, 8_192  # calls, rows in memory, characters in a row
FILE = os.environ.get("QUEUE", "frigate-queue.db")

def opened(path):
    file = sqlite3.connect(path, timeout=0.2, check_same_thread=False, isolation_level=None)
    file.execute("CREATE TABLE IF NOT EXISTS queue (place INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, id TEXT, value TEXT, UNIQUE (kind, id))")
    return file

access, said = threading.Lock(), {}
calls, calling = queue.SimpleQueue(), set()  # calls to repeat; the alerts whose calls have no answer yet
answered = set()  # the alerts whose calls are answered, but whose rows may still be in the file
counts, unsaved = threading.Event(), {}  # unsaved: id of an object → row that the file did not take

def run(statement, *values):
    """The rows; None if the file cannot be used."""
    try:
        with access:
            return rows.execute(statement, values).fetchall()
    except sqlite3.Error as error:
        say(f"{FILE}: {error}. What it does not take stays in memory.", "file")
        return None

def keep(kind, id, value):
    return run("INSERT OR REPLACE INTO queue (kind, id, value) VALUES (?, ?, ?)", kind, id, value) is not None

def forget_calls():
    """A file that cannot be written now keeps the rows. A later start of this program must not phone about them."""
    ids = list(answered)
    if ids and run(f"DELETE FROM queue WHERE kind = 'call' AND id IN ({','.join('?' * len(ids))})", *ids) is not None:
        answered.difference_update(ids)

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
    value = json.dumps({
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
    })
    if len(value) > LONGEST:
        raise ValueError("too long")
    if not keep("count", after["id"], value):
        with access:
            unsaved[after["id"]] = value
            if len(unsaved) > MOST_UNSAVED:
                del unsaved[next(iter(unsaved))]
    counts.set()

def reviewed(after):
    """A message of `new`, `update` or `end`. An alert may begin as a detection, and fire may come into it later. The key lets it phone once."""
    words = [*after["data"]["objects"], *after["data"].get("audio", [])]
    if category(words) is None:
        return
    if after["severity"] != "alert":
        return say(f"No call yet: {', '.join(words)} of {after['camera']} is no alert. See review.alerts.labels of Frigate.", f"no alert of {after['camera']}")
    if not RECIPIENTS or after["id"] in calling:
        return
    value = json.dumps({"channel": "phone", "alert_type": "ReportOfFire", "recipients": RECIPIENTS, "reference": after["camera"][:100]})
    calling.add(after["id"])
    if threading.active_count() < MOST_THREADS:
        threading.Thread(target=phone, args=(after["id"], value), daemon=True).start()
    else:
        calls.put((after["id"], value))
    keep("call", after["id"], value)
    if after["id"] not in calling:  # the answer came before the row
        answered.add(after["id"])
        forget_calls()

def phone(review, value):
    """Asks for a call once. Without an answer, one of CALLERS asks again, however long the service asks to wait."""
    if ask("a call", notify_once, json.loads(value), f"frigate-{review}", *SERVICE, CALL_TIMEOUT) > 0:
        time.sleep(CALL_PAUSE)
        return calls.put((review, value))
    calling.discard(review)
    answered.add(review)
    forget_calls()

def repeat_calls():
    while True:
        phone(*calls.get())

def count():
    done = 0  # the last place that the service has answered for: a file that cannot be written still has it
    while True:
        forget_calls()
        stored = run("SELECT place, value FROM queue WHERE kind = 'count' AND place > ? ORDER BY place LIMIT ?", done, BATCH) or []
        with access:
            spare = list(unsaved.items())[: BATCH - len(stored)]
        if not stored and not spare:
            counts.wait(60)
            counts.clear()
            continue
        pause = ask("counts", send_once, [json.loads(value) for _, value in stored + spare], *SERVICE)
        if pause == 0:
            # A later message about an object has another place, and another text.
            with access:
                for id, value in spare:
                    if unsaved.get(id) is value:
                        del unsaved[id]
            if stored:
                done = stored[-1][0]
                run("DELETE FROM queue WHERE kind = 'count' AND place <= ?", done)
        time.sleep(pause)

def ask(what, request, *values):
    """Sends once. Returns the seconds to wait before the same is sent again; 0 if it was answered."""
    try:
        answer = request(*values)
        if "code" in answer:
            say(f"{what}: {answer['detail']}")
        return 0
    except Unavailable as error:
        say(f"{what}: the service does not answer. What waits is sent again.", what)
        return max(error.seconds, COUNT_PAUSE)
    except urllib.error.HTTPError as error:
        say(f"{what}: the service answers {error.code}. Are SERVICE_URL and FUNCTION_KEY right?", what)
        return REFUSED_PAUSE

HANDLERS = {f"{PREFIX}/events": detected, f"{PREFIX}/reviews": reviewed}

def on_message(_client, _userdata, message):
    try:
        HANDLERS[message.topic](json.loads(message.payload)["after"])
    except Exception as error:  # no message may end the program: the broker would send it again at each start
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
try:
    rows = opened(FILE)
except sqlite3.Error as error:
    say(f"{FILE}: {error}. Everything stays in memory.")
    rows = opened(":memory:")
for review, value in run("SELECT id, value FROM queue WHERE kind = 'call' ORDER BY place") or []:
    calling.add(review)
    calls.put((review, value))
for work in [count] + [repeat_calls] * CALLERS:
    threading.Thread(target=work, daemon=True).start()

# A session of this name: the broker keeps messages for it while this program is away.
version = [mqtt.CallbackAPIVersion.VERSION2] if hasattr(mqtt, "CallbackAPIVersion") else []  # paho-mqtt 2, or 1.6
client = mqtt.Client(*version, client_id=os.environ.get("MQTT_CLIENT_ID", "wildfire-camera-activity"), clean_session=False)
client.username_pw_set(os.environ.get("MQTT_USERNAME"), os.environ.get("MQTT_PASSWORD"))
client.on_connect, client.on_message = on_connect, on_message
client.reconnect_delay_set(1, 2)
client.connect_async(os.environ.get("MQTT_HOST", "localhost"), int(os.environ.get("MQTT_PORT", "1883")), keepalive=15)
client.loop_forever(retry_first_connection=True)
