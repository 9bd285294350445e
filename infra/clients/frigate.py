"""Hands on what Frigate detects. Needs `pip install paho-mqtt`, and send.py beside it."""

import json, os
from datetime import datetime, timezone
import paho.mqtt.client as mqtt
from send import send

LABELS = {"fire": "fire", "smoke": "smoke"}  # Frigate's labels → categories

def on_message(client, _userdata, message):
    after = json.loads(message.payload)["after"]
    if after["label"] not in LABELS:
        return
    taken = datetime.fromtimestamp(after["start_time"], timezone.utc).isoformat()
    found = 0 if after["false_positive"] else 1
    answer = send([{
        "specversion": "1.0",
        "id": f"{after['id']}-{datetime.now(timezone.utc).timestamp()}",
        "source": "/frigate",
        "type": "CameraEvent.Changed",
        "time": datetime.now(timezone.utc).isoformat(),
        "data": {"event_id": after["id"], "camera_id": after["camera"], "ts_utc": taken, "detections": {LABELS[after["label"]]: found}},
    }], os.environ["SERVICE_URL"], os.environ.get("FUNCTION_KEY", ""))
    if "errors" in answer:
        print(answer["errors"])

client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
client.on_connect = lambda client, *_: client.subscribe("frigate/events", qos=1)
client.on_message = on_message
client.connect(os.environ.get("MQTT_HOST", "localhost"))
client.loop_forever()
