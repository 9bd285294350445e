"""Counts what Frigate detects, and phones RECIPIENTS about its alerts. Needs `pip install paho-mqtt`, and send.py in the same folder."""

import json, os
from datetime import datetime, timezone
import paho.mqtt.client as mqtt
from send import notify, send

LABELS = {"fire": "fire", "smoke": "smoke"}  # Frigate's labels → categories
SERVICE = (os.environ["SERVICE_URL"], os.environ.get("FUNCTION_KEY", ""))
RECIPIENTS = [number for number in os.environ.get("RECIPIENTS", "").split(",") if number]

def count(after):
    if after["label"] not in LABELS:
        return
    now = datetime.now(timezone.utc)
    taken = datetime.fromtimestamp(after["start_time"], timezone.utc)
    found = 0 if after["false_positive"] else 1
    report(send([{
        "specversion": "1.0",
        "id": f"{after['id']}-{now.timestamp()}",
        "source": "/frigate",
        "type": "CameraEvent.Changed",
        "time": now.isoformat(),
        "data": {"event_id": after["id"], "camera_id": after["camera"], "ts_utc": taken.isoformat(), "detections": {LABELS[after["label"]]: found}},
    }], *SERVICE))

def phone(after):
    if not RECIPIENTS or after["severity"] != "alert" or not LABELS.keys() & set(after["data"]["objects"]):
        return
    alert = {"channel": "phone", "alert_type": "ReportOfFire", "recipients": RECIPIENTS, "reference": after["camera"]}
    report(notify(alert, f"frigate-{after['id']}", *SERVICE))

def report(answer):
    if "code" in answer:
        print(answer["detail"])

HANDLERS = {"frigate/events": count, "frigate/reviews": phone}
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
client.on_connect = lambda client, *_: client.subscribe([(topic, 1) for topic in HANDLERS])
client.on_message = lambda client, _userdata, message: HANDLERS[message.topic](json.loads(message.payload)["after"])
client.connect(os.environ.get("MQTT_HOST", "localhost"))
client.loop_forever()
