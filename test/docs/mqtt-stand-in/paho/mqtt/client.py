"""Stands for paho-mqtt on a machine without it: the used part of its interface, with MQTT 3.1.1 to a real broker."""

import socket, struct, threading, time
from types import SimpleNamespace

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, PINGREQ = 1, 2, 3, 4, 8, 12

def text(value):
    data = value.encode()
    return struct.pack("!H", len(data)) + data

class Client:
    def __init__(self, client_id="", clean_session=True):
        self.client_id, self.clean = client_id, clean_session

    def username_pw_set(self, username, password=None):
        assert username is None

    def reconnect_delay_set(self, min_delay, max_delay):
        self.delay = min_delay

    def connect_async(self, host, port, keepalive):
        self.address, self.keepalive = (host, port), keepalive

    def subscribe(self, topics):
        self._send(SUBSCRIBE << 4 | 2, struct.pack("!H", 1) + b"".join(text(topic) + bytes([qos]) for topic, qos in topics))

    def loop_forever(self, retry_first_connection=False):
        while True:
            try:
                self._serve()
            except OSError:
                time.sleep(self.delay)

    def _serve(self):
        with socket.create_connection(self.address) as self.socket:
            self.stream = self.socket.makefile("rb")
            flags = 2 if self.clean else 0
            self._send(CONNECT << 4, text("MQTT") + bytes([4, flags]) + struct.pack("!H", self.keepalive) + text(self.client_id))
            threading.Thread(target=self._ping, args=(self.socket,), daemon=True).start()
            while True:
                self._packet(*self._receive())

    def _packet(self, head, body):
        if head >> 4 == CONNACK:
            self.on_connect(self, None, {}, body[1])
        elif head >> 4 == PUBLISH:
            end = 2 + struct.unpack("!H", body[:2])[0]
            qos = head >> 1 & 3
            start = end + 2 * bool(qos)
            # As in paho: acknowledged after the function, if that raises nothing.
            self.on_message(self, None, SimpleNamespace(topic=body[2:end].decode(), payload=body[start:]))
            if qos:
                self._send(PUBACK << 4, body[end:start])

    def _ping(self, of):
        while True:
            time.sleep(self.keepalive / 2)
            try:
                of.sendall(bytes([PINGREQ << 4, 0]))
            except OSError:
                return

    def _send(self, head, body):
        size, rest = b"", len(body)
        while True:
            size, rest = size + bytes([rest % 128 | (128 if rest > 127 else 0)]), rest // 128
            if rest == 0:
                break
        self.socket.sendall(bytes([head]) + size + body)

    def _receive(self):
        head, size, shift = self._bytes(1)[0], 0, 0
        while True:
            digit = self._bytes(1)[0]
            size, shift = size + ((digit & 127) << shift), shift + 7
            if digit < 128:
                return head, self._bytes(size)

    def _bytes(self, count):
        data = self.stream.read(count)
        if len(data) < count:
            raise ConnectionError("the broker has closed the connection")
        return data
